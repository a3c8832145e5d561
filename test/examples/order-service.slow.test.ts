import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { freePort } from '../support/free-port.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tsx = import.meta.resolve('tsx')
const database = useDatabase()
const masterKey = Buffer.alloc(32, 5).toString('base64')
let folder: string

/** The example in a project of its own, which has installed Sagapost and what the example imports beside it. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-example-'))
  cpSync(join(root, 'examples/order-service'), folder, { recursive: true })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/sagapost'))
  for (const name of ['@types', 'pg', 'selfsigned']) {
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
})
afterAll(() => rmSync(folder, { recursive: true }))

const running = new Set<ChildProcess>()
afterEach(async () => {
  for (const child of running) {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
})

async function run(file: string, ready: string, env: Record<string, string>) {
  const child = spawn(process.execPath, ['--import', tsx, file], {
    cwd: folder,
    env: { PATH: process.env['PATH'], DATA_DIR: join(folder, 'data'), ...env },
  })
  running.add(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text
    })
  }
  const closed = once(child, 'close').then(([code]) => {
    running.delete(child)
    return code
  })
  await expect
    .poll(() => (child.exitCode === null ? output : `${output}ended with ${child.exitCode}`))
    .toMatch(new RegExp(`${ready}|ended with`))
  if (!output.includes(ready)) throw new Error(`${file} did not start:\n${output}`)
  return {
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      return closed
    },
  }
}

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

it('[R1, O6] an order arrives, a rolled-back one does not, and one that was placed while no process listened comes later', async () => {
  const [shopPort, warehousePort] = [await freePort(), await freePort()]
  const shopUrl = `http://127.0.0.1:${shopPort}`
  const shop = await run('shop.ts', 'The shop is open', {
    DATABASE_URL: database.url,
    SAGAPOST_MASTER_KEY: masterKey,
    // Five attempts are half a minute: the warehouse is back by then, on a slow machine too.
    SAGAPOST_RETRY_BASE_DELAY: '2s',
    PORT: String(shopPort),
  })
  const startWarehouse = () =>
    run('warehouse.ts', 'The warehouse is ready', { SHOP_URL: shopUrl, PORT: String(warehousePort) })
  const order = async (item: string, quantity: number) => {
    const init = { method: 'POST', body: JSON.stringify({ item, quantity }) }
    const response = await fetch(`${shopUrl}/orders`, init)
    return [response.status, await response.json()]
  }

  const warehouse = await startWarehouse()
  expect(await order('lamp', 2)).toEqual([201, { order: '1' }])
  await expect.poll(warehouse.output).toContain('{"order":"1","item":"lamp","quantity":2}')

  expect(await order('lamp', 1_000)).toEqual([409, { error: 'there are not so many left' }])
  const { rows } = await database.pool.query(
    `SELECT (SELECT count(*)::int FROM orders) AS orders, (SELECT count(*)::int FROM sagapost.events) AS events`,
  )
  expect(rows).toEqual([{ orders: 1, events: 1 }])

  await warehouse.stop()
  expect(await order('lamp', 3)).toEqual([201, { order: '3' }])
  const attempts = async () => {
    const found = await database.pool.query(
      `SELECT status, final_error_code FROM sagapost.webhook_delivery_sagas ORDER BY id DESC LIMIT 1`,
    )
    return found.rows[0]
  }
  await expect
    .poll(attempts)
    .toMatchObject({ status: 'PendingRetry', final_error_code: 'connection_refused' })
  const back = await startWarehouse()
  await expect.poll(back.output).toContain('{"order":"3","item":"lamp","quantity":3}')
  expect(back.output()).not.toContain('"order":"1"')
  expect(back.output()).not.toContain('"quantity":1000')
  await back.stop()
  expect([await shop.stop(), shop.output()]).toEqual([0, 'The shop is open\n'])
})
