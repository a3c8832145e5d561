import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPostgresStorage } from '../../src/sagas/index.js'
import { useDatabase } from '../support/database.js'
import { replayHistory } from '../support/replay-history.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tsx = import.meta.resolve('tsx')
const database = useDatabase({ migrated: false })
let folder: string

/** The example in a project of its own, which has installed Sagapost and pg. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-example-'))
  cpSync(join(root, 'examples/order-saga'), folder, { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/sagapost'))
  for (const name of ['@types', 'pg', 'selfsigned']) {
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
})
afterAll(() => rmSync(folder, { recursive: true }))

it('[O1] compiles as a user would compile it', () => {
  const compilerOptions = {
    ...{ target: 'es2023', lib: ['es2023'], module: 'nodenext', types: ['node'], strict: true, noEmit: true },
    ...{ skipLibCheck: true, exactOptionalPropertyTypes: true },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const { stdout, status } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  expect([stdout, status]).toEqual(['', 0])
})

it('[G14] one order is shipped, the other is undone, and the output is the one in its README', async () => {
  const child = spawn(process.execPath, ['--import', tsx, 'shop.ts'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      DATABASE_URL: database.url,
      SAGAPOST_MASTER_KEY: Buffer.alloc(32, 5).toString('base64'),
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text
    })
  }
  const [code] = await once(child, 'close')
  const [, promised] = /^```text\n(.*?)^```/ms.exec(readFileSync(join(folder, 'README.md'), 'utf8')) ?? []
  expect([code, output]).toEqual([0, promised])

  const { rows } = await database.pool.query('SELECT item, state, parcel FROM shop_orders ORDER BY id')
  expect(rows).toEqual([
    { item: 'lamp', state: 'shipped', parcel: 'parcel-3' },
    { item: 'piano', state: 'given up', parcel: null },
  ])
  const storage = createPostgresStorage({ pool: database.as('saga_readonly_role') })
  for (const saga of await storage.listSagas({ definitionId: 'checkout' })) {
    const steps = await storage.listSteps(saga.id)
    const replayed = replayHistory(await storage.listEvents(saga.id), saga.totalSteps)
    expect(replayed.state).toBe(saga.state)
    expect(replayed.steps.map(({ state }) => state)).toEqual(steps.map(({ state }) => state))
  }
})
