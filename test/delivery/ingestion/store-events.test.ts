import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { publish, storeEvents } from '../../../src/delivery/index.js'
import { useDatabase } from '../../support/database.js'
import { webhookIdOfStored } from '../../support/webhook-ids.js'

const database = useDatabase()
const store = (events: Parameters<typeof storeEvents>[1]) =>
  storeEvents(database.as('event_ingest_writer'), events)

async function payloadsOf(type: string): Promise<string[]> {
  const { rows } = await database.pool.query(
    'SELECT payload::text FROM sagapost.events WHERE event_type = $1 ORDER BY id',
    [type],
  )
  return rows.map(({ payload }) => payload)
}

describe('storeEvents', () => {
  it('[E1, R1] stores a batch in order, byte for byte, and queues all of it for routing', async () => {
    const payloads = ['{ "a":1, "a":2 }', '"\\u0000\\ud800"', '1e400', '[]', '[1, [2],3 ]', '"],["']
    const outcomes = await store(payloads.map((payload) => ({ type: 'batch.bytes', payload })))
    expect(outcomes).toEqual(
      payloads.map(() => ({
        id: expect.stringMatching(/^\d+$/),
        webhookId: expect.any(String),
        type: 'batch.bytes',
        createdAt: expect.any(Date),
        duplicate: false,
      })),
    )
    expect(await payloadsOf('batch.bytes')).toEqual(payloads)
    const { rows } = await database.pool.query(
      `SELECT FROM sagapost.unrouted_events WHERE event_type = 'batch.bytes'`,
    )
    expect(rows).toHaveLength(payloads.length)
  })

  it('[E1] keeps the white space around a payload in a batch with others that have none', async () => {
    const payloads = ['1', ' {"n":1}', '2', '{"n":1}\n', '\t"x"\r', '3']
    await store(payloads.map((payload) => ({ type: 'batch.padded', payload })))
    expect(await payloadsOf('batch.padded')).toEqual(payloads)
  })

  it('[E3, J3] answers with the webhook id that receivers will get, for a duplicate as well', async () => {
    const key = { idempotencyKey: 'named' }
    const some = { type: 'batch.named', payload: '1' }
    const outcomes = [
      ...(await store([some, { ...some, payload: ' 2' }])),
      ...(await store([{ ...some, ...key }, some])),
      ...(await store([{ ...some, ...key }, some])),
    ] as { id: string; webhookId: string; duplicate: boolean }[]
    expect(outcomes.map(({ duplicate }) => duplicate)).toEqual([false, false, false, false, true, false])
    for (const { id, webhookId } of outcomes) {
      expect(webhookId).toBe(await webhookIdOfStored(database.pool, id))
    }
  })

  it('[E1, E3] keeps payloads with keys byte for byte, with white space around them and without', async () => {
    const bare = ['{ "a":1, "a":2 }', '"\\u0000\\ud800"', '1e400', '[1, [2],3 ]', '"],["', 'null']
    const keyed = (type: string, payloads: string[]) =>
      payloads.map((payload) => ({ type, payload, idempotencyKey: `${type}-${payload}` }))
    await store(keyed('keyed.bare', bare))
    expect(await payloadsOf('keyed.bare')).toEqual(bare)
    const padded = [...bare, ' {"n":1}', '\t"x"\r']
    await store(keyed('keyed.padded', padded))
    expect(await payloadsOf('keyed.padded')).toEqual(padded)
  })

  it('[E3] recognizes a repeated event, and a different one, with and without white space around the payload', async () => {
    const bare = { type: 'two.ways', payload: '{"n": 1}', idempotencyKey: 'two-ways-bare' }
    const padded = { type: 'two.ways', payload: ' 1', idempotencyKey: 'two-ways-padded' }
    const [first] = await store([bare])
    const [again, other] = await store([bare, padded])
    expect(again).toEqual({ ...first, duplicate: true })
    expect(await store([{ ...padded, payload: '1' }, bare])).toMatchObject([
      { refusal: { code: 'idempotency_conflict' } },
      { ...first, duplicate: true },
    ])
    expect(await store([padded])).toEqual([{ ...other, duplicate: true }])
  })

  it('[E1] returns the time of an event as the row has it', async () => {
    const plain = await store(Array.from({ length: 50 }, () => ({ type: 'batch.time', payload: '1' })))
    const keyed = await store(
      Array.from({ length: 50 }, (_, index) => ({
        type: 'batch.time',
        payload: '1',
        idempotencyKey: `batch-time-${index}`,
      })),
    )
    const { rows } = await database.pool.query(
      `SELECT id, created_at AS "createdAt" FROM sagapost.events WHERE event_type = 'batch.time' ORDER BY id`,
    )
    expect([...plain, ...keyed]).toMatchObject(rows)
  })

  it('[E3] answers a known key with the first id and time, and stores it once, in one batch or in two', async () => {
    const event = { type: 'batch.key', payload: '{"n": 1}', idempotencyKey: 'batch-key' }
    const [first, second] = await store([event, event])
    const [third] = await store([event])
    expect(first).toMatchObject({ duplicate: false })
    expect([second, third]).toEqual([
      { ...first, duplicate: true },
      { ...first, duplicate: true },
    ])
    expect(await payloadsOf('batch.key')).toHaveLength(1)
    const { rows } = await database.pool.query(
      `SELECT created_at FROM sagapost.events WHERE event_type = 'batch.key'`,
    )
    expect(first).toMatchObject({ createdAt: rows[0].created_at })
  })

  it('[E3] refuses a used key with another event, never drops it silently, and stores the rest', async () => {
    const outcomes = await store([
      { type: 'batch.conflict', payload: '1', idempotencyKey: 'conflict' },
      { type: 'batch.conflict', payload: '2', idempotencyKey: 'conflict' },
      { type: 'batch.conflict', payload: '3' },
    ])
    expect(outcomes).toMatchObject([
      { duplicate: false },
      { refusal: { code: 'idempotency_conflict', field: 'idempotencyKey' } },
      { duplicate: false },
    ])
    expect(await payloadsOf('batch.conflict')).toEqual(['1', '3'])
  })

  it('[E3] publish and storeEvents share the same keys', async () => {
    const id = await publish(database.as('event_ingest_writer') as never, {
      type: 'batch.shared',
      payload: { n: 1 },
      idempotencyKey: 'shared',
    })
    expect(
      await store([{ type: 'batch.shared', payload: '{"n":1}', idempotencyKey: 'shared' }]),
    ).toMatchObject([{ id, duplicate: true }])
  })

  it('[E3, O7] a hundred concurrent calls with one key: one event, one id, 99 duplicates', async () => {
    const event = { type: 'batch.hundred', payload: '{}', idempotencyKey: 'hundred' }
    const outcomes = (await Promise.all(Array.from({ length: 100 }, () => store([event])))).flat()
    expect(new Set(outcomes.map((outcome) => 'id' in outcome && outcome.id)).size).toBe(1)
    expect(outcomes.filter((outcome) => 'duplicate' in outcome && outcome.duplicate)).toHaveLength(99)
    expect(await payloadsOf('batch.hundred')).toHaveLength(1)
  })

  it('[O7] batches with the same keys in any order never deadlock', async () => {
    const keys = Array.from({ length: 40 }, (_, index) => `order-${index}`)
    const batch = (order: string[]) =>
      store(order.map((idempotencyKey) => ({ type: 'batch.order', payload: '{}', idempotencyKey })))
    await Promise.all(Array.from({ length: 8 }, (_, n) => batch(n % 2 ? keys : keys.toReversed())))
    expect(await payloadsOf('batch.order')).toHaveLength(keys.length)
  })

  it.each([
    ['event_type_invalid', { type: 'a b', payload: '{}' }],
    ['event_type_invalid', { type: 'x'.repeat(101), payload: '{}' }],
    ['idempotency_key_invalid', { type: 'bad', payload: '{}', idempotencyKey: '' }],
    ['idempotency_key_invalid', { type: 'bad', payload: '{}', idempotencyKey: 'k'.repeat(256) }],
    ['idempotency_key_invalid', { type: 'bad', payload: '{}', idempotencyKey: 'a\0b' }],
    ['payload_invalid', { type: 'bad', payload: '{"a": }' }],
    ['payload_invalid', { type: 'bad', payload: '' }],
    ['payload_invalid', { type: 'bad', payload: '['.repeat(1001) + ']'.repeat(1001) }],
    ['payload_too_large', { type: 'bad', payload: `"${'x'.repeat(1024 * 1024)}"` }],
    ['event_invalid', { type: 'bad', payload: '{}', correlationId: 'a\nb' }],
    ['event_invalid', { type: 'bad', payload: '{}', traceparent: '' }],
  ])('[E1] refuses with %s and stores the others', async (code, event) => {
    expect(await store([event, { type: 'good', payload: '{}' }])).toMatchObject([
      { refusal: { code } },
      { duplicate: false },
    ])
    expect(await payloadsOf('bad')).toEqual([])
  })

  it.each([
    ['payload_too_large', `"${'x'.repeat(1024 * 1024)}"`],
    ['payload_invalid', '['.repeat(1001) + ']'.repeat(1001)],
  ])('[E1] refuses with %s what was read as JSON already', async (code, payload) => {
    const outcomes = await storeEvents(database.as('event_ingest_writer'), [{ type: 'bad', payload }], {
      isJson: true,
    })
    expect(outcomes).toMatchObject([{ refusal: { code } }])
  })

  it('[E1] stores nothing of a batch when a payload marked as JSON is not JSON', async () => {
    const events = [
      { type: 'said.json', payload: '{}' },
      { type: 'said.json', payload: '{' },
    ]
    await expect(
      storeEvents(database.as('event_ingest_writer'), events, { isJson: true }),
    ).rejects.toMatchObject({ code: '22P02' })
    expect(await payloadsOf('said.json')).toEqual([])
  })

  it('[E3] waits for a held key no longer than its time-out, in one statement, and leaves no setting behind', async () => {
    const holder = await database.pool.connect()
    const client = await database.as('event_ingest_writer').connect()
    const settings = async () =>
      (await client.query(`SELECT current_setting('lock_timeout') AS wait`)).rows[0].wait
    try {
      const before = await settings()
      await holder.query('BEGIN')
      await holder.query(`SELECT sagapost.publish('batch.wait', '1'::json, 'waited-for')`)
      const events = ['free', 'waited-for'].map((idempotencyKey) => ({
        type: 'batch.wait',
        payload: '1',
        idempotencyKey,
      }))
      // Without the limit this would wait until the holder ends, which is after it.
      await expect(storeEvents(client, events, { lockWaitMs: 1 })).rejects.toMatchObject({ code: '55P03' })
      expect(await settings()).toBe(before)
      expect(await payloadsOf('batch.wait')).toEqual([])
      await holder.query('COMMIT')
      expect(await storeEvents(client, events, { lockWaitMs: 1 })).toMatchObject([
        { duplicate: false },
        { duplicate: true },
      ])
      expect(await settings()).toBe(before)
    } finally {
      holder.release(true)
      client.release()
    }
  })

  it('[E1] accepts the limits: 1,000 levels, 100 characters, 255 characters of key', async () => {
    const event = {
      type: 't'.repeat(100),
      payload: '['.repeat(1000) + ']'.repeat(1000),
      idempotencyKey: '💡'.repeat(255),
    }
    expect(await store([event])).toMatchObject([{ duplicate: false }])
  })

  it('[E1] keeps any JSON text unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.stringMatching(/^[ \n\t]{0,3}$/), async (json, space) => {
        const payload = space + json + space
        const [outcome] = await store([{ type: 'any', payload }])
        if (!outcome || !('id' in outcome)) throw new Error('refused')
        const { rows } = await database.pool.query(
          'SELECT payload::text FROM sagapost.events WHERE id = $1',
          [outcome.id],
        )
        return rows[0].payload === payload
      }),
      { numRuns: 100 },
    )
  })
})

describe('publish', () => {
  it("[E3] belongs to the caller's own transaction", async () => {
    const client = await database.as('event_ingest_writer').connect()
    await client.query('BEGIN')
    await publish(client, { type: 'own.transaction', payload: { order: 7 } })
    await client.query('ROLLBACK')
    await client.query('BEGIN')
    const id = await publish(client, { type: 'own.transaction', payload: { order: 8 } })
    await client.query('COMMIT')
    client.release()
    expect(id).toMatch(/^\d+$/)
    expect(await payloadsOf('own.transaction')).toEqual(['{"order":8}'])
  })

  it('[E1] refuses bad input with one clear message before it queries the database', async () => {
    const never = { query: () => Promise.reject(new Error('asked')) } as never
    await expect(publish(never, { type: 'a b', payload: 1 })).rejects.toMatchObject({
      code: 'event_type_invalid',
    })
    await expect(publish(never, { type: 'a', payload: undefined })).rejects.toMatchObject({
      code: 'payload_invalid',
    })
  })
})
