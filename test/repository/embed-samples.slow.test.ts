import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tsx = import.meta.resolve('tsx')
const database = useDatabase({ migrated: false })
const read = (page: string) => readFileSync(join(root, page), 'utf8')
const guide = read('docs/guides/embed.md')
const samples = Object.fromEntries(
  [...guide.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```/gms)].map(([, name = '', code = '']) => [name, code]),
)
let folder: string

/** A project that has installed Sagapost and pg. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-embed-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/sagapost'))
  for (const name of ['@types', 'pg']) {
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  for (const [name, code] of Object.entries(samples)) writeFileSync(join(folder, name), code)
  const [readme = ''] = /^```ts\n.*?^```/ms.exec(read('README.md')) ?? []
  writeFileSync(join(folder, 'readme.ts'), readme.replaceAll(/^```.*$/gm, ''))
})
afterAll(() => rmSync(folder, { recursive: true }))

it('[O1] every TypeScript sample of the guide is listed here', () => {
  expect(guide.match(/^```ts$/gm)).toHaveLength(Object.keys(samples).length)
  expect(Object.keys(samples)).toEqual(['embed.ts', 'publisher.ts', 'manage.ts'])
})

it('[O1] they compile, and so does the README’s', () => {
  const compilerOptions = {
    ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', types: ['node'] },
    ...{ strict: true, noEmit: true, skipLibCheck: true, exactOptionalPropertyTypes: true },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  expect([stdout, status]).toEqual(['', 0])
})

/** Runs a sample to its end; at `until`, it is asked to stop. */
async function run(name: string, until?: string) {
  const child = spawn(process.execPath, ['--import', tsx, name], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      SAGAPOST_MASTER_KEY: Buffer.alloc(32, 3).toString('base64'),
      CALLBACK_URL: 'https://receiver.invalid/webhooks',
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text
      if (until && output.includes(until)) child.kill('SIGTERM')
    })
  }
  const [code] = await once(child, 'close')
  return { code, output }
}

describe('in order', () => {
  it('[O1, E3] embed.ts migrates, publishes in its own transaction, and stops on request', async () => {
    expect(await run('embed.ts', 'published')).toEqual({
      code: 0,
      output: expect.stringMatching(/^published \d+\n$/),
    })
    const { rows } = await database.pool.query(
      `SELECT payload::text FROM sagapost.events WHERE event_type = 'order.placed'`,
    )
    expect(rows).toEqual([{ payload: '{"order":7,"total":"12.50"}' }])
  })

  it('[O1, E3] publisher.ts stores what it can and reports what it cannot', async () => {
    const output = 'stored: order.shipped\nevent_type_invalid\n'
    expect(await run('publisher.ts')).toEqual({ code: 0, output })
  })

  it('[O1, U4] manage.ts creates a subscription, and reports that the endpoint does not answer', async () => {
    expect(await run('manage.ts')).toEqual({
      code: 0,
      output: expect.stringMatching(/^give this to the receiver: whsec_\S+\nnot verified: request_failed\n$/),
    })
  })
})

it('[O1] the guide names every operation that an instance has, and every option', () => {
  const source = (file: string) => read(`src/embedding/${file}.ts`)
  const operations = [...source('operations').matchAll(/^ {2}(\w+)\(/gm)].map(([, name]) => name)
  const options = [
    ...(source('options').split('interface SagapostOptions')[1] ?? '').matchAll(/^ {2}(\w+)\??:/gm),
  ]
  const names = [...operations, ...options.map(([, name]) => name)]
  expect(names.length).toBeGreaterThan(30)
  expect(names.filter((name) => !guide.includes(`\`${name}`))).toEqual([])
})
