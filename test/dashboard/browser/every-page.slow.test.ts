import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { useDashboard } from './use-dashboard.js'

const dashboard = useDashboard()
const paths: Record<string, string> = {}

beforeAll(async () => {
  const { system } = dashboard
  const subscription = await system.subscribe('page.test', '/ok')
  await system.subscribe('page.fails', '/broken', { headers: { 'x-tenant': 'north' } })
  const event = await system.publish('page.test', { page: 1 })
  for (let n = 0; n < 6; n++) await system.publish('page.fails', { page: n })
  const saga = await system.startSaga({ order: 1, fate: 'stuck' })
  const first = async (path: string) => (await system.call('GET', path)).body.data[0]?.id
  await vi.waitFor(async () => expect(await first('/v1/dead-letters')).toBeDefined(), 60_000)
  Object.assign(paths, {
    Overview: '/',
    Events: '/events',
    [`Event ${event}`]: `/events/${event}`,
    Deliveries: '/deliveries',
    'Delivery ': `/deliveries/${await first('/v1/deliveries?status=DeadLettered')}`,
    Subscriptions: '/subscriptions',
    [`Subscription ${subscription}`]: `/subscriptions/${subscription}`,
    'Dead letters': '/dead-letters',
    'Dead letter ': `/dead-letters/${await first('/v1/dead-letters')}`,
    Sagas: '/sagas',
    checkout: `/sagas/${saga}`,
    System: '/system',
  })
})

const settled = async (page: Page, title: string) => {
  await page.getByRole('heading', { level: 1, name: title }).waitFor()
  await expect.poll(() => page.getByRole('status', { name: 'Loading' }).count()).toBe(0)
}

interface Violation {
  id: string
  impact: string
  nodes: { html: string }[]
}

async function findings(page: Page): Promise<string[]> {
  await page.addScriptTag({ content: axe.source })
  const violations = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)')
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

describe('every page', () => {
  it.each(['light', 'dark'] as const)('has no serious axe finding (%s)', async (theme) => {
    // Axe is a foreign script, which the page's policy does not let in.
    const page = await dashboard.open('/', { theme, withPolicy: false })
    const found: Record<string, string[]> = {}
    for (const [title, path] of Object.entries(paths)) {
      await page.goto(dashboard.system.url + path)
      await settled(page, title)
      const serious = await findings(page)
      if (serious.length > 0) found[title] = serious
    }
    await page.goto(`${dashboard.system.url}/subscriptions`)
    await page.getByRole('button', { name: 'New subscription' }).click()
    found['dialog'] = await findings(page)
    const signedOut = await dashboard.open('/', { theme, key: null, withPolicy: false })
    await signedOut.getByLabel('API key').waitFor()
    found['sign-in'] = await findings(signedOut)
    expect(found).toEqual({ dialog: [], 'sign-in': [] })
  })

  it('fits a phone without horizontal scrolling', async () => {
    const page = await dashboard.open('/', { width: 375, height: 720 })
    for (const [title, path] of Object.entries(paths)) {
      await page.goto(dashboard.system.url + path)
      await settled(page, title)
      const excess = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      )
      expect(excess, title).toBeLessThanOrEqual(0)
    }
  })
})

describe('the overview', () => {
  it('[O5] shows current activity and what needs attention, and draws the last hour and day', async () => {
    const page = await dashboard.open()
    await page.getByText(/sagas? waits? for an operator/).waitFor()
    await page.getByText(/dead letters? within the last hour/).waitFor()
    await page
      .getByRole('img', { name: /^Throughput per second, now/ })
      .locator('canvas')
      .waitFor()
    for (const range of ['Last hour', 'Last day', '5 min, live']) {
      await page.getByRole('button', { name: range }).click()
      await page
        .getByRole('img', { name: /^Response time, now/ })
        .locator('canvas')
        .waitFor()
    }
    await page.getByText('Deliveries without a job').waitFor()
  })

  it('[O5] updates without a reload', async () => {
    const page = await dashboard.open()
    const chart = page.getByRole('img', { name: /^Throughput per second, now/ })
    await chart.waitFor()
    const isIdle = async () => /Events 0,/.test((await chart.getAttribute('aria-label')) ?? '')
    await expect.poll(isIdle).toBe(true)
    await dashboard.system.publish('page.test', 'live')
    await expect.poll(isIdle).toBe(false)
  })

  it('[J8] names the system: processes, tables, indexes', async () => {
    const page = await dashboard.open('/system')
    await page.getByText('api, router, orchestrator, worker, cleaner, sagas').waitFor()
    await page.getByLabel('Tables').getByText('webhook_delivery_jobs').waitFor()
    await page.getByText('pg_stat_statements is not installed').waitFor()
  })
})

describe('the keyboard', () => {
  it('goes through lists, to the search, to other pages, and shows its keys', async () => {
    const page = await dashboard.open('/deliveries')
    const rows = page.locator('[data-row-link]')
    await rows.first().waitFor()
    const focused = () => page.evaluate('document.activeElement.textContent')
    const shown = await rows.allTextContents()
    await page.keyboard.press('j')
    expect(await focused()).toBe(shown[0])
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    expect(await focused()).toBe(shown[1])
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: `Delivery ${shown[1]}` }).waitFor()

    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await page.getByRole('heading', { name: 'Events' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('page.test?')
    expect(await page.getByLabel('Type', { exact: true }).inputValue()).toBe('page.test?')
    await page.getByRole('heading', { name: 'Events' }).click()
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('next and previous row').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('t')
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
  })
})
