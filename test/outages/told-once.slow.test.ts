import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import { openLink } from '../../faults/system/open-link.js'
import { readConfig } from '../../src/config/index.js'
import { createDatabaseWatch, createRolePool } from '../../src/database/index.js'
import { startSystem, systemParts } from '../../src/runtime/index.js'
import { call } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

interface Line {
  level: number
  msg: string
  [field: string]: unknown
}

function keepLines() {
  const lines: Line[] = []
  const log = pino({ level: 'info' }, { write: (text: string) => void lines.push(JSON.parse(text)) })
  /** What an operator is woken up by. */
  const alarms = () => lines.filter(({ level }) => level >= 40)
  return { log, alarms }
}

/** A way to the database that can be shut: connections break, and new ones are refused. */
async function openGate() {
  const { port } = new URL(database.url)
  let isOpen = true
  const link = await openLink(() => (isOpen ? Number(port) : 1))
  onTestFinished(() => link.close())
  const url = new URL(database.url)
  url.port = String(link.port)
  return {
    url: url.href,
    port: link.port,
    shut() {
      isOpen = false
      link.cut()
    },
    open() {
      isOpen = true
    },
  }
}

it('[O5, O7] an outage of the database is reported once, with host and role, and once more when it is over', async () => {
  const gate = await openGate()
  const { log, alarms } = keepLines()
  const env = {
    PORT: '0',
    SAGAPOST_API_KEY: 'the-administrators-key-of-the-environment',
    SAGAPOST_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const system = await startSystem({ databaseUrl: gate.url, config: readConfig(env), only: systemParts, log })
  onTestFinished(async () => void (await system.stop()))
  const publish = () =>
    call(`${system.url}/v1/events`, 'POST', {
      key: 'the-administrators-key-of-the-environment',
      body: { type: 'told', payload: 1 },
    })
  expect((await publish()).status).toBe(202)

  gate.shut()
  await expect.poll(() => alarms().length).toBeGreaterThan(0)
  const refused = await Promise.all(Array.from({ length: 20 }, publish))
  expect(refused.map(({ status, body }) => [status, body.code])).toEqual(
    refused.map(() => [503, 'database_unreachable']),
  )
  // Every loop has failed more than once by then.
  const failures = async () => {
    const { body } = await system.metrics.render()
    const counts = [...body.matchAll(/^sagapost_loop_failures_total\{part="(\w+)"\} (\d+)/gm)]
    return Object.fromEntries(counts.map(([, part, count]) => [part, Number(count)]))
  }
  await expect.poll(failures).toMatchObject({
    router: expect.toSatisfy((count) => count > 2),
    orchestrator: expect.toSatisfy((count) => count > 2),
    worker: expect.toSatisfy((count) => count > 2),
    sagas: expect.toSatisfy((count) => count > 2),
  })
  expect(alarms()).toMatchObject([
    {
      level: 50,
      msg: 'the database is unreachable',
      database: `127.0.0.1:${gate.port}${new URL(database.url).pathname}`,
      role: expect.stringMatching(/^\w+$/),
      error_code: 'database_unreachable',
      reason: expect.any(String),
    },
  ])
  expect(alarms()[0]).not.toHaveProperty('err')

  gate.open()
  await expect.poll(() => alarms().length).toBe(2)
  expect(alarms()[1]).toMatchObject({ level: 40, msg: 'the database is back', away_s: expect.any(Number) })
  expect((await publish()).status).toBe(202)
})

it('[O5] during the outage it is reported periodically; other failures are not reported as outages', async () => {
  const { log, alarms } = keepLines()
  const watch = createDatabaseWatch({ databaseUrl: database.url, log, tellEveryMs: 1_500, backAfterMs: 100 })
  onTestFinished(() => watch.stop())
  const role = 'router_worker'
  const pool = createRolePool({ databaseUrl: 'postgres://x@127.0.0.1:1/x', role, connectionsMax: 1, watch })
  const working = createRolePool({ databaseUrl: database.url, role, connectionsMax: 1, watch })
  onTestFinished(async () => void (await Promise.all([pool.end(), working.end()])))
  await expect(working.query('SELECT 1 / 0')).rejects.toMatchObject({ code: '22012' })
  expect(watch.isAway()).toBe(false)

  await expect(pool.query('SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  expect(watch.isAway()).toBe(true)
  await expect.poll(() => alarms().length).toBe(3)
  expect(alarms().map(({ msg }) => msg)).toEqual([
    'the database is unreachable',
    'still: the database is unreachable',
    'still: the database is unreachable',
  ])
  await working.query('SELECT 1')
  await expect.poll(watch.isAway).toBe(false)
  expect(alarms().at(-1)).toMatchObject({ msg: 'the database is back', role })
})

it('[O5] connections that break once and are replaced at once are a single warning', async () => {
  const { log, alarms } = keepLines()
  const watch = createDatabaseWatch({ databaseUrl: database.url, log })
  onTestFinished(() => watch.stop())
  const pool = createRolePool({ databaseUrl: database.url, role: 'router_worker', connectionsMax: 2, watch })
  onTestFinished(() => pool.end())
  const broken = expect(pool.query('SELECT pg_sleep(600)')).rejects.toThrow()
  const terminate = `
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query = 'SELECT pg_sleep(600)'`
  await expect.poll(async () => (await database.pool.query(terminate)).rowCount).toBe(1)
  await broken
  await pool.query('SELECT 1')
  await expect.poll(watch.isAway).toBe(false)
  expect(alarms()).toMatchObject([
    { level: 40, msg: 'connections to the database were lost; new connections work' },
  ])
})
