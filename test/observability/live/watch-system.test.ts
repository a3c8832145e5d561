import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../../src/api-keys/index.js'
import type { Snapshot } from '../../../src/observability/index.js'
import { watchSystem } from '../../../src/observability/index.js'
import { adminKey, call, startTestApi } from '../../http/api-server.js'
import { useDatabase } from '../../support/database.js'
import { insertDeadLetters } from '../../support/dead-letters.js'
import { insertDeliveryWithoutEvent, insertSubscription } from '../../support/fixtures.js'
import { countLockWaiters } from '../../support/lock-waiters.js'
import { insertStuckSaga } from '../../support/sagas.js'

const database = useDatabase()
const reads = () => database.as('saga_readonly_role')
const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})

function watch() {
  const watching = watchSystem(reads(), { onError: () => {}, lookEveryMs: 20 })
  stops.push(() => watching.stop())
  return watching
}

async function stream(url: string, key: string) {
  const asked = request(`${url}/v1/live`, { headers: { authorization: `Bearer ${key}` } }).end()
  const [response] = await once(asked, 'response')
  let text = ''
  let ended = false
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    text += chunk
  })
  response.on('error', () => {})
  response.on('close', () => {
    ended = true
  })
  stops.push(async () => asked.destroy())
  return {
    status: response.statusCode as number,
    headers: response.headers as Record<string, string>,
    snapshots: () =>
      [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data ?? '') as Snapshot),
    ended: () => ended,
    leave: () => asked.destroy(),
  }
}

describe('the watch', () => {
  it('[O5] queries the database once for all viewers, and not at all without one', async () => {
    const watching = watch()
    const seen: Snapshot[][] = [[], [], []]
    const ends = seen.map((each) => watching.follow((snapshot) => each.push(snapshot)))
    await expect.poll(() => seen.every((each) => each.length >= 3)).toBe(true)
    // The same objects: nothing was read or made for one of them alone.
    expect(seen[0]?.[2]).toBe(seen[1]?.[2])
    for (const end of ends) end()
    expect(watching.viewers()).toBe(0)
    const count = seen[0]?.length
    const { rows } = await database.pool.query('SELECT pg_sleep(0.2)')
    expect([rows.length, seen[0]?.length]).toEqual([1, count])
  })

  it('[O5] shows what needs attention, failures first', async () => {
    await insertStuckSaga(database.pool)
    await insertDeliveryWithoutEvent(database.pool, '1000', '10 minutes')
    const failing = await insertSubscription(database.pool, { url: 'https://failing.example/' })
    await database.pool.query(
      `INSERT INTO sagapost.subscription_breakers (subscription_id, failures, last_error_code) VALUES ($1, 7, 'timeout')`,
      [failing],
    )
    await insertDeadLetters(database.pool, { count: 2, subscriptionId: failing })
    await database.pool.query(
      `INSERT INTO sagapost.processes (id, hostname, pid, version, parts, seen_at)
       VALUES ('gone-1', 'gone', 1, '0', '{worker}', sagapost.now() - interval '5 minutes')`,
    )
    await database.pool.query(
      `INSERT INTO sagapost.set_aside_events (event_id, event_type, error_code, reason) VALUES (7, 'a', '23514', 'no')`,
    )
    const watching = watch()
    const seen: Snapshot[] = []
    watching.follow((snapshot) => seen.push(snapshot))
    await expect.poll(() => seen.length).toBeGreaterThan(0)
    expect(seen[0]?.attention.map(({ kind, severity, subject }) => `${severity} ${kind} ${subject}`)).toEqual(
      [
        'failing set_aside_events null',
        'failing late_stage first_jobs',
        'attention stuck_sagas null',
        'attention lost_process gone-1',
        `attention failing_endpoint ${failing}`,
        'attention dead_letters null',
      ],
    )
    expect(seen[0]?.attention.at(-1)?.text).toBe('2 dead letters within the last hour, not requeued')
    expect(seen[0]?.stages?.find(({ stage }) => stage === 'sagas_stuck')?.count).toBe(1)
  })
})

describe('GET /v1/live', () => {
  it('[O5] is a stream of snapshots that ends with the server', async () => {
    const server = await startTestApi(database.url)
    const viewer = await stream(server.url, adminKey)
    expect([viewer.status, viewer.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
    expect(viewer.headers['cache-control']).toBe('no-store')
    await expect.poll(() => viewer.snapshots().length).toBeGreaterThan(0)
    await server.stop()
    await expect.poll(viewer.ended).toBe(true)
  })

  it('[O7] refuses the next viewer when 200 watch, until one of them leaves', async () => {
    const server = await startTestApi(database.url)
    stops.push(() => server.stop())
    const viewers = await Promise.all(Array.from({ length: 200 }, () => stream(server.url, adminKey)))
    expect(new Set(viewers.map(({ status }) => status))).toEqual(new Set([200]))
    const refused = await call(`${server.url}/v1/live`, 'GET')
    expect(refused).toMatchObject({ status: 503, body: { code: 'overloaded' } })
    viewers[7]?.leave()
    await expect.poll(async () => (await call(`${server.url}/v1/live`, 'GET')).status).toBe(200)
  })

  it('[O7] keeps no place for a viewer that leaves while its key is looked up', async () => {
    const server = await startTestApi(database.url)
    stops.push(() => server.stop())
    const { key } = await createKey(database.as('api_key_admin'), { name: 'gone', scope: 'read' })
    const locking = await database.pool.connect()
    try {
      await locking.query('BEGIN; LOCK TABLE sagapost.api_keys')
      const leaving = await Promise.all(
        Array.from({ length: 200 }, async () => {
          const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
          await once(socket, 'connect')
          socket.write(`GET /v1/live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`)
          return socket
        }),
      )
      await expect.poll(() => countLockWaiters(database.pool)).toBeGreaterThan(0)
      await setTimeout(200)
      for (const socket of leaving) socket.destroy()
      await setTimeout(200)
    } finally {
      await locking.query('ROLLBACK')
      locking.release()
    }
    expect((await stream(server.url, key)).status).toBe(200)
  })

  it('[O2] needs a key that may read, and ends when it is revoked', async () => {
    const server = await startTestApi(database.url)
    stops.push(() => server.stop())
    const keys = database.as('api_key_admin')
    const ingest = await createKey(keys, { name: 'a', scope: 'ingest' })
    expect((await stream(server.url, ingest.key)).status).toBe(403)
    expect((await stream(server.url, 'spk_none')).status).toBe(401)
    const { id, key } = await createKey(keys, { name: 'b', scope: 'read' })
    const viewer = await stream(server.url, key)
    await expect.poll(() => viewer.snapshots().length).toBeGreaterThan(0)
    await revokeKey(keys, id)
    await expect.poll(viewer.ended).toBe(true)
  })
})
