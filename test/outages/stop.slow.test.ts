import { expect, it, onTestFinished } from 'vitest'
import { openLink } from '../../faults/system/open-link.js'
import { readConfig } from '../../src/config/index.js'
import { createRolePool } from '../../src/database/index.js'
import { startSystem, systemParts } from '../../src/runtime/index.js'
import { call, silent } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'
import { spawnCli } from '../support/spawn-cli.js'

const database = useDatabase()
const masterKey = Buffer.alloc(32, 7).toString('base64')

/** A way to the database on which everything can be made to vanish. */
async function openLinkToDatabase() {
  const link = await openLink(() => Number(new URL(database.url).port))
  onTestFinished(() => link.close())
  const url = new URL(database.url)
  url.port = String(link.port)
  return { link, url: url.href }
}

async function serve(databaseUrl: string, settings: Record<string, string>) {
  const cli = spawnCli(['serve'], {
    DATABASE_URL: databaseUrl,
    SAGAPOST_API_KEY: 'the-administrators-key-of-the-environment',
    SAGAPOST_MASTER_KEY: masterKey,
    PORT: '0',
    ...settings,
  })
  onTestFinished(async () => {
    cli.child.kill('SIGKILL')
    await cli.exit
  })
  const [, url = ''] = await cli.printed(/"url":"([^"]+)","msg":"listening"/)
  await cli.printed(/"msg":"serving"/)
  return { ...cli, url }
}

const lineOf = (stdout: string, message: string) =>
  stdout
    .split('\n')
    .filter((line) => line.includes(message))
    .map((line) => JSON.parse(line))

it('[O5, J8] a stop while the database has vanished ends at its deadline, and reports in one line what it gave up', async () => {
  const { link, url } = await openLinkToDatabase()
  const served = await serve(url, { SAGAPOST_STOP_DEADLINE: '4s', SAGAPOST_DRAIN_DELAY: '0s' })
  link.behave({ kind: 'black-hole', half: false })
  // Under way when it is stopped: nothing of it will ever be answered.
  const requests = Array.from({ length: 3 }, () =>
    call(`${served.url}/v1/events`, 'POST', {
      key: 'the-administrators-key-of-the-environment',
      body: { type: 'stop', payload: 1 },
    }).catch(() => undefined),
  )
  await expect.poll(link.connections).toBeGreaterThan(0)
  served.child.kill('SIGTERM')
  expect(await served.exit).toBe(1)
  await Promise.all(requests)
  const lines = lineOf(served.stdout(), 'stop deadline exceeded')
  expect(lines).toMatchObject([
    {
      level: 'error',
      given_up: expect.arrayContaining([expect.any(String)]),
    },
  ])
  expect(served.stderr()).toBe('')
})

it('[O2] reports not ready and keeps serving before it closes its port', async () => {
  const served = await serve(database.url, { SAGAPOST_STOP_DEADLINE: '10m', SAGAPOST_DRAIN_DELAY: '9m' })
  const readiness = () => call(`${served.url}/readyz`, 'GET', { key: null })
  expect((await readiness()).body).toEqual({ status: 'ready' })
  served.child.kill('SIGTERM')
  await expect.poll(async () => (await readiness()).status).toBe(503)
  const { body, headers } = await readiness()
  expect(body).toEqual({ status: 'not_ready', obstacles: [{ code: 'stopping', detail: expect.any(String) }] })
  expect(headers.get('connection')).toBe('close')
  const event = { type: 'drained', payload: 1 }
  expect(
    (
      await call(`${served.url}/v1/events`, 'POST', {
        key: 'the-administrators-key-of-the-environment',
        body: event,
      })
    ).status,
  ).toBe(202)
  // A second signal waits for nothing.
  served.child.kill('SIGTERM')
  expect(await served.exit).toBe(1)
})

it('[O2] a clean stop ends with 0 and gives nothing up', async () => {
  const served = await serve(database.url, { SAGAPOST_DRAIN_DELAY: '10ms' })
  served.child.kill('SIGTERM')
  expect(await served.exit).toBe(0)
  expect([lineOf(served.stdout(), 'deadline'), served.stderr()]).toEqual([[], ''])
})

it('[O5] embedded, a stop gives up in time as well, and leaves no connection behind', async () => {
  const { link, url } = await openLinkToDatabase()
  const env = {
    PORT: '0',
    SAGAPOST_API_KEY: 'the-administrators-key-of-the-environment',
    SAGAPOST_MASTER_KEY: masterKey,
    SAGAPOST_STOP_DEADLINE: '2s',
  }
  const system = await startSystem({
    databaseUrl: url,
    config: readConfig(env),
    only: systemParts,
    log: silent(),
  })
  link.behave({ kind: 'black-hole', half: false })
  const { givenUp } = await system.stop()
  expect(givenUp).not.toEqual([])
  link.behave({ kind: 'pass' })
  await expect.poll(link.connections).toBe(0)
})

it('[J8] a statement that takes too long is cancelled on the server too, and its transaction with it', async () => {
  const pool = createRolePool({
    databaseUrl: database.url,
    role: 'schema_maintainer',
    connectionsMax: 1,
    queryTimeoutMs: 300,
  })
  onTestFinished(() => pool.end())
  const running = async () => {
    const { rowCount } = await database.pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%given up%' AND state = 'active'
       AND pid <> pg_backend_pid()`,
    )
    return rowCount
  }
  await expect(pool.query(`SELECT 'given up', pg_sleep(600)`)).rejects.toThrow('Query read timeout')
  await expect.poll(running).toBe(0)
  const client = await pool.connect()
  await client.query('BEGIN')
  await expect(client.query(`SELECT 'given up', pg_sleep(600)`)).rejects.toThrow('Query read timeout')
  await expect(client.query('ROLLBACK')).rejects.toThrow()
  client.release(true)
  await expect.poll(running).toBe(0)
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
})
