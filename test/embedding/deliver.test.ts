import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { Sagapost } from '../../src/index.js'
import { useDatabase } from '../support/database.js'
import { bodies, masterKey, subscribe, useInstances } from './use-instances.js'

const database = useDatabase()
const other = useDatabase()
const { embed, receive } = useInstances()

/** The application's own transaction, on a connection of its own. */
async function transact<T>(work: (client: pg.PoolClient) => Promise<T>, end = 'COMMIT'): Promise<T> {
  const client = await database.pool.connect()
  try {
    await client.query('BEGIN')
    const result = await work(client)
    await client.query(end)
    return result
  } finally {
    client.release()
  }
}

const statuses = async (instance: Sagapost, subscriptionId: string) => {
  const { data } = await instance.deliveries.list({ subscriptionId })
  return data.map(({ status }) => status)
}

describe('an instance', () => {
  it('[O2, R1, S18] delivers what the application commits, signed, and nothing of what it rolls back', async () => {
    const receiver = await receive()
    const instance = embed({ databaseUrl: database.url }, receiver)
    await instance.start()
    await instance.start()
    const { id, secret } = await subscribe(instance, receiver, 'embed.order')

    await transact(
      (client) => instance.publish(client, { type: 'embed.order', payload: { n: 1 } }),
      'ROLLBACK',
    )
    const exact = '{ "n":  2.50, "text": "\\u0000" }'
    const eventId = await transact(async (client) => {
      await client.query('CREATE TEMP TABLE mine ON COMMIT DROP AS SELECT 1')
      const event = { type: 'embed.order', payloadJson: exact, correlationId: 'checkout-1' } as const
      return instance.publish(client, event)
    })
    instance.wake()
    await expect.poll(() => statuses(instance, id)).toEqual(['Completed'])
    expect(bodies(receiver)).toEqual([exact])
    const [request] = receiver.requests
    expect(request?.headers).toMatchObject({
      'webhook-id': (await instance.events.get(eventId))?.webhookId,
      'sagapost-correlation-id': 'checkout-1',
    })
    new Webhook(secret).verify(exact, request?.headers as Record<string, string>)

    expect(await instance.events.get(eventId)).toMatchObject({
      payloadJson: exact,
      deliveries: [{ subscriptionId: id }],
    })
    expect(await instance.metrics()).toMatch(/sagapost_attempts_total\{outcome="delivered"\} 1/)
    await Promise.all([instance.stop(), instance.stop()])
    await instance.stop()
  })

  it('[R1] that runs no part publishes, and wakes the router of another process', async () => {
    const receiver = await receive()
    const parts = embed({ databaseUrl: database.url }, receiver)
    await parts.start()
    const { id } = await subscribe(parts, receiver, 'embed.remote')
    const publisher = embed({ databaseUrl: database.url, parts: [], masterKey: undefined })
    await publisher.start()
    await transact((client) => publisher.publish(client, { type: 'embed.remote', payload: [1] }))
    publisher.wake()
    await expect.poll(() => statuses(publisher, id)).toEqual(['Completed'])
    await expect(
      publisher.subscriptions.create({ eventType: 'embed.remote', callbackUrl: 'https://example.com/' }),
    ).rejects.toMatchObject({ code: 'config_invalid' })
    const routers = async () =>
      (
        await database.pool.query(
          `SELECT FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'sagapost router_worker'`,
        )
      ).rowCount
    // Those of the other instance; of the tests before, some may still be about to go.
    await expect.poll(routers).toBeLessThanOrEqual(2)
  })

  it('[R1] that runs no part wakes others by NOTIFY: at once, and not once for each call', async () => {
    const publisher = embed({ databaseUrl: database.url, parts: [], masterKey: undefined })
    const heard: string[] = []
    const listener = new pg.Client({ connectionString: database.url })
    await listener.connect()
    try {
      listener.on('notification', ({ payload }) => heard.push(payload?.split(' ')[0] ?? ''))
      await listener.query('LISTEN sagapost_wake')
      for (let call = 0; call < 100; call++) publisher.wake()
      await expect.poll(() => heard).toEqual(['routing', 'routing']) // the first, and one for all that followed
    } finally {
      await listener.end()
    }
  })

  it('[O2] serves the API when asked to, and answers with its key', async () => {
    const instance = embed({
      databaseUrl: database.url,
      parts: ['api'],
      apiKey: 'the-administrators-key-of-the-environment',
      port: 0,
    })
    expect(instance.url).toBeUndefined()
    await instance.start()
    const ask = (key: string) =>
      fetch(`${instance.url}/v1/events`, { headers: { authorization: `Bearer ${key}` } })
    expect([
      (await ask('the-administrators-key-of-the-environment')).status,
      (await ask('wrong')).status,
    ]).toEqual([200, 401])
    const taken = embed({
      databaseUrl: database.url,
      parts: ['api'],
      apiKey: 'the-administrators-key-of-the-environment',
      port: Number(new URL(instance.url ?? '').port),
    })
    await expect(taken.start()).rejects.toThrow(/^port \d+ on 127\.0\.0\.1 is in use/)
    await instance.stop()
    expect(instance.url).toBeUndefined()
  })

  it('[O2] and another on another database live in one process, each with its own metrics', async () => {
    const receivers = [await receive(), await receive()] as const
    const instances = [
      embed({ databaseUrl: database.url }, receivers[0]),
      embed({ databaseUrl: other.url }, receivers[1]),
    ] as const
    await Promise.all(instances.map((instance) => instance.start()))
    const pools = [database.pool, other.pool] as const
    for (const [at, instance] of instances.entries()) {
      await subscribe(instance, receivers[at as 0 | 1], 'embed.two')
      await instance.publish(pools[at as 0 | 1], { type: 'embed.two', payload: { at } })
    }
    for (const at of [0, 1] as const) {
      await expect.poll(() => bodies(receivers[at])).toEqual([`{"at":${at}}`])
      await expect
        .poll(() => instances[at].metrics())
        .toMatch(/sagapost_attempts_total\{outcome="delivered"\} 1\n/)
    }
  })
})

describe('what can go wrong', () => {
  it('[S22, O7] connections that break under it: it recovers and delivers, and no rejection is left unhandled', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => unhandled.push(error)
    process.on('unhandledRejection', note)
    process.on('uncaughtException', note)
    try {
      const receiver = await receive()
      // Nothing may be left to the end of a lease: a claim or a report whose answer was lost is recovered.
      const instance = embed({ databaseUrl: database.url, leaseDuration: '10m' }, receiver)
      await instance.start()
      const { id } = await subscribe(instance, receiver, 'embed.killed')
      for (const round of [1, 2, 3, 4, 5]) {
        await instance.publish(database.pool, { type: 'embed.killed', payload: { round } })
        instance.wake()
        let killed = 0
        await expect
          .poll(async () => {
            const { rowCount } = await database.pool.query(
              `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND application_name LIKE 'sagapost%'`,
            )
            killed += rowCount ?? 0
            return killed
          })
          .toBeGreaterThan(2)
      }
      const done = async () => {
        const found = await statuses(instance, id).catch(() => [])
        return found.filter((status) => status === 'Completed').length
      }
      await expect.poll(done).toBe(5)
      expect(new Set(bodies(receiver)).size).toBe(5)
      await instance.stop()
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', note)
      process.off('uncaughtException', note)
    }
  })

  it('[O2] an application with its own parsers for bigint, times and JSON does not change ours', async () => {
    const { getTypeParser, setTypeParser } = pg.types
    const oids = [20, 114, 1184, 3802]
    const before = oids.map((oid) => getTypeParser(oid))
    for (const oid of oids) setTypeParser(oid, () => 'mine')
    try {
      const receiver = await receive()
      const instance = embed({ databaseUrl: database.url }, receiver)
      await instance.start()
      const created = await subscribe(instance, receiver, 'embed.types')
      expect(created.id).toMatch(/^\d+$/)
      expect(Date.now() - created.createdAt.getTime()).toBeLessThan(3_600_000)
      expect(
        await transact((client) => instance.publish(client, { type: 'embed.types', payload: 1 })),
      ).toMatch(/^\d+$/)
      await expect.poll(() => statuses(instance, created.id)).toEqual(['Completed'])
    } finally {
      for (const [at, oid] of oids.entries()) setTypeParser(oid, before[at] as (text: string) => unknown)
    }
  })

  it('[E3] a refusal has its code; before the statement it leaves the transaction usable', async () => {
    const instance = embed({ databaseUrl: database.url, parts: [] })
    const circular: unknown[] = []
    circular.push(circular)
    const id = await transact(async (client) => {
      const refused = (event: object) =>
        instance.publish(client, event as never).then(
          () => 'taken',
          ({ code }) => code,
        )
      expect(await refused({ type: 'no spaces', payload: 1 })).toBe('event_type_invalid')
      expect(await refused({ type: 'embed.bad', payload: undefined })).toBe('payload_invalid')
      expect(await refused({ type: 'embed.bad', payload: circular })).toBe('payload_invalid')
      expect(await refused({ type: 'embed.bad', payload: 1n })).toBe('payload_invalid')
      expect(await refused({ type: 'embed.bad', payload: 1, payloadJson: '1' })).toBe('payload_invalid')
      expect(await refused({ type: 'embed.bad', payloadJson: '{' })).toBe('payload_invalid')
      expect(await refused({ type: 'embed.bad', payload: 'x'.repeat(1024 * 1024) })).toBe('payload_too_large')
      expect(await refused({ type: 'embed.bad', payload: 1, idempotencyKey: 7 })).toBe(
        'idempotency_key_invalid',
      )
      return instance.publish(client, { type: 'embed.good', payload: 1, idempotencyKey: 'embed-1' })
    })
    const again = { type: 'embed.good', payload: 1, idempotencyKey: 'embed-1' }
    expect(await instance.publish(database.pool, again)).toBe(id)
    await expect(instance.publish(database.pool, { ...again, payload: 2 })).rejects.toMatchObject({
      name: 'SagapostError',
      code: 'idempotency_conflict',
    })
    await expect(instance.publish(database.as('router_worker'), again)).rejects.toMatchObject({
      code: 'permission_denied',
      message: expect.stringContaining('GRANT event_publisher'),
    })
  })

  it('[O2] after stop() every call is refused with one code, and no connection is opened again', async () => {
    const instance = embed({ databaseUrl: database.url, parts: [] })
    await instance.stop()
    const code = { code: 'instance_stopped' }
    await expect(instance.start()).rejects.toMatchObject(code)
    await expect(instance.deliveries.list()).rejects.toMatchObject(code)
    await expect(instance.events.publishMany([])).rejects.toMatchObject(code)
    await expect(instance.subscriptions.get('1')).rejects.toMatchObject(code)
    await expect(instance.deadLetters.requeue('1')).rejects.toMatchObject(code)
    await expect(instance.metrics()).rejects.toMatchObject(code)
    instance.wake()
  })

  it('[O2] a start that fails leaves nothing running; stop() while it starts waits for it', async () => {
    const otherKey = Buffer.alloc(32, 9).toString('base64')
    const receiver = await receive()
    await subscribe(embed({ databaseUrl: database.url, parts: [] }, receiver), receiver, 'embed.sealed')
    const wrong = embed({ databaseUrl: database.url, masterKey: otherKey })
    await expect(wrong.start()).rejects.toThrow('sealed with another masterKey')
    await wrong.stop()
    const quick = new Sagapost({ databaseUrl: database.url, masterKey })
    const starting = quick.start()
    await quick.stop()
    await starting
    const nowhere = embed({ databaseUrl: 'postgres://user@127.0.0.1:1/nowhere' })
    await expect(nowhere.start()).rejects.toMatchObject({ code: 'database_unreachable' })
  })
})
