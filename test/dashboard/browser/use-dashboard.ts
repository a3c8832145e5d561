import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { createKey, type Scope } from '../../../src/api-keys/index.js'
import { type TestDatabase, useDatabase } from '../../support/database.js'
import { openBrowser } from '../open-browser.js'
import { adminKey, type StagedSystem, stageSystem } from '../stage-system.js'

export interface Dashboard {
  readonly database: TestDatabase
  readonly system: StagedSystem
  readonly browser: Browser
  /** A fresh browser profile, signed in unless told otherwise, at a path. */
  open(path?: string, options?: OpenOptions): Promise<Page>
  keyOf(scope: Scope): Promise<string>
}

interface OpenOptions {
  key?: string | null
  theme?: 'light' | 'dark'
  width?: number
  height?: number
  withPolicy?: boolean
}

/** A running system with a browser beside it. A test fails when the page throws, or breaks its own policy. */
export function useDashboard(): Dashboard {
  const database = useDatabase()
  let system: StagedSystem
  let browser: Browser
  let contexts: BrowserContext[] = []
  let complaints: string[] = []

  beforeAll(async () => {
    ;[system, browser] = await Promise.all([stageSystem(database.url), openBrowser()])
  })
  afterEach(async () => {
    await Promise.all(contexts.map((context) => context.close()))
    contexts = []
    const told = complaints
    complaints = []
    expect(told).toEqual([])
  })
  afterAll(async () => {
    await browser?.close()
    await system?.stop()
  })

  return {
    database,
    get system() {
      return system
    },
    get browser() {
      return browser
    },
    keyOf: async (scope) => (await createKey(database.as('api_key_admin'), { name: scope, scope })).key,
    async open(
      path = '/',
      { key = adminKey, theme = 'light', width = 1280, height = 800, withPolicy = true } = {},
    ) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme: theme,
        locale: 'en-GB',
        acceptDownloads: true,
        bypassCSP: !withPolicy,
      })
      contexts.push(context)
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      const page = await context.newPage()
      page.setDefaultTimeout(60_000)
      page.on('pageerror', (error) => complaints.push(`${error}`))
      page.on('console', (message) => {
        // A refusal that a test provokes is told by the browser, too.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
          complaints.push(message.text())
        }
      })
      if (key === null) {
        await page.goto(system.url + path)
        return page
      }
      await page.goto(`${system.url}/`)
      await signIn(page, key)
      if (path !== '/') await page.goto(system.url + path)
      return page
    },
  }
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('navigation', { name: 'Pages' }).waitFor()
}
