import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { useDatabase } from '../support/database.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const database = useDatabase()
const server = useSagapost(database)
const client = () => createClient({ baseUrl: server.url, apiKey: adminKey })

/** As `npx tsx <file>` runs it. */
async function runProgram(file: string, ...args: string[]): Promise<string> {
  const child = spawn(process.execPath, ['--import', 'tsx', file, ...args], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      SAGAPOST_URL: server.url,
      SAGAPOST_API_KEY: adminKey,
      CALLBACK_URL: `${server.receiver.url}hooks`,
    },
  })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  expect([code, stderr]).toEqual([0, ''])
  return stdout
}

it('[O1] the example publishes an event, once, and follows its delivery', async () => {
  const callbackUrl = `${server.receiver.url}hooks`
  const { id } = await client().subscriptions.create({ eventType: 'order.placed', callbackUrl })
  await client().subscriptions.verify(id)
  const first = await runProgram('examples/publish-and-follow.ts', '41')
  expect(first).toMatch(
    /^event \d+ is published\ndelivery \d+ is Completed after 1 attempt\(s\)\n {2}HTTP 200 in \d+ ms\n$/,
  )
  expect(await runProgram('examples/publish-and-follow.ts', '41')).toBe(
    first.replace('is published', 'was published before'),
  )
  await client().subscriptions.delete(id)
})

it('[O1] the samples of docs/guides/use-the-client.md run unchanged', async () => {
  const page = readFileSync(join(root, 'docs/guides/use-the-client.md'), 'utf8')
  const samples = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, sample = '']) => sample)
  const folder = mkdtempSync(join(tmpdir(), 'sagapost-samples-'))
  try {
    // Outside of the package its own name leads nowhere.
    const built = new URL('../../dist/client/index.js', import.meta.url).href
    const file = join(folder, 'samples.ts')
    writeFileSync(file, samples.join('\n').replace(`'sagapost/client'`, `'${built}'`))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    const printed = await runProgram(file)
    expect(printed).toMatch(/^\d+ false\nwhsec_\S+\n/)
    expect(printed).toContain('404 event_not_found there is no event 404 [] undefined\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
  const types: string[] = []
  for await (const { type } of client().events.all()) types.push(type)
  expect(types).toEqual(expect.arrayContaining(['order.priced', 'order.packed', 'order.shipped']))
})
