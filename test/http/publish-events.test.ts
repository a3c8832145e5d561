import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createEventStore } from '../../src/delivery/ingestion/event-store.js'
import { useDatabase } from '../support/database.js'
import { countLockWaiters } from '../support/lock-waiters.js'
import { type Answer, silent, useApi } from './api-server.js'

const database = useDatabase()
const api = useApi(database)

const publish = (body: unknown, headers: Record<string, string> = {}) =>
  api.call('POST', '/v1/events', { body, headers })
const publishBatch = (body: unknown, headers: Record<string, string> = {}) =>
  api.call('POST', '/v1/events/batch', { body, headers })

async function stored(id: string): Promise<Record<string, unknown>> {
  const { rows } = await database.pool.query(
    `SELECT event_type, payload::text AS payload, correlation_id, traceparent FROM sagapost.events WHERE id = $1`,
    [id],
  )
  return rows[0]
}

const countEvents = async () =>
  Number((await database.pool.query('SELECT count(*) FROM sagapost.events')).rows[0].count)

describe('POST /v1/events', () => {
  it('[E1, O5] stores the event durably, with the correlation id and trace context of the headers', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const answer = await publish(
      { type: 'order.placed', payload: { order: 7 } },
      { 'sagapost-correlation-id': 'checkout-4711', traceparent },
    )
    expect(answer).toMatchObject({
      status: 202,
      body: { id: expect.stringMatching(/^\d+$/), type: 'order.placed', duplicate: false },
    })
    expect(new Date(answer.body.createdAt).toISOString()).toBe(answer.body.createdAt)
    expect(Object.keys(answer.body)).toEqual(['id', 'type', 'createdAt', 'duplicate', 'webhookId'])
    expect(await stored(answer.body.id)).toEqual({
      event_type: 'order.placed',
      payload: '{"order":7}',
      correlation_id: 'checkout-4711',
      traceparent,
    })
  })

  it('[E3] answers the same key, type and payload bytes with the first id; anything else is a conflict', async () => {
    const event = '{"type":"order.placed","payload":{"a": 1},"idempotencyKey":"order-1"}'
    const first = await publish(event)
    const again = await publish(event)
    expect(again.status).toBe(202)
    expect(again.body).toEqual({ ...first.body, duplicate: true })
    // The key in the header is the same key, and other white space is another payload.
    const byHeader = await publish('{"type":"order.placed","payload":{"a": 1}}', {
      'idempotency-key': 'order-1',
    })
    expect(byHeader.body).toEqual(again.body)
    for (const other of ['{"a":1}', '{"a": 2}']) {
      const conflict = await publish(`{"type":"order.placed","payload":${other},"idempotencyKey":"order-1"}`)
      expect(conflict).toMatchObject({ status: 409, body: { code: 'idempotency_conflict', status: 409 } })
    }
    const both = await publish(event, { 'idempotency-key': 'order-2' })
    expect(both).toMatchObject({ status: 400, body: { errors: [{ field: 'idempotencyKey' }] } })
    expect((await publish(event, { 'idempotency-key': 'order-1' })).body.duplicate).toBe(true)
  })

  it.each([
    ['order', '{ "b" : 1,\n\t"a":\r\n 2 }'],
    ['\\u0000 and lone surrogates', '{"a":"\\u0000","b":"\\ud800","\\udfff":1}'],
    ['numbers that no double holds', '[1e400,-0,1.0,10000000000000000000001,1E+2,0.1000]'],
    ['a thousand levels', '['.repeat(1000) + ']'.repeat(1000)],
    ['names twice, __proto__ among them', '{"a":1,"a":2,"__proto__":{"x":1},"constructor":null}'],
    ['other alphabets and signs', '"日本語 😀 \u2028 \u007f é"'],
    ['null', 'null'],
    ['an empty object', '{}'],
  ])('[E1] keeps the bytes of the payload: %s', async (_what, payload) => {
    const single = await publish(` {"payload" :${payload} ,"type":"bytes"}`)
    const batch = await publishBatch(`{"events":[ {"type":"bytes","payload": ${payload}\n}]}`)
    expect([single.status, batch.status]).toEqual([202, 202])
    for (const id of [single.body.id, batch.body.results[0].id]) {
      expect((await stored(id))['payload']).toBe(payload)
      const { text } = await api.call('GET', `/v1/events/${id}`)
      expect(text).toContain(`"payload":${payload}}`)
    }
  })

  it('[E1] takes a payload of exactly 1 MiB and not a byte more', async () => {
    const of = (bytes: number) => `{"type":"large","payload":"${'x'.repeat(bytes - 2)}"}`
    expect((await publish(of(1024 * 1024))).status).toBe(202)
    expect(await publish(of(1024 * 1024 + 1))).toMatchObject({
      status: 413,
      body: { code: 'payload_too_large', errors: [{ field: 'payload' }] },
    })
    expect(await publish(of(10_000_000))).toMatchObject({ status: 413, body: { code: 'request_too_large' } })
  })

  const event = (more: string) => `{"type":"t","payload":1${more}}`
  it.each<[string, string | Uint8Array, number, string, string?]>([
    ['nothing', '', 400, 'request_malformed'],
    ['what is not JSON', '{"type":', 400, 'request_malformed'],
    ['a comma too many', event(','), 400, 'request_malformed'],
    ['a BOM', `\ufeff${event('')}`, 400, 'request_malformed'],
    ['invalid UTF-8', Buffer.from('{"type":"t","payload":"\xff"}', 'latin1'), 400, 'request_malformed'],
    ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 400, 'request_malformed'],
    ['a list', '[]', 400, 'request_invalid'],
    ['no type', '{"payload":1}', 400, 'request_invalid', 'type'],
    ['no payload', '{"type":"t"}', 400, 'request_invalid', 'payload'],
    ['a type that is a number', '{"type":1,"payload":1}', 400, 'request_invalid', 'type'],
    ['a key that is null', event(',"idempotencyKey":null'), 400, 'request_invalid', 'idempotencyKey'],
    ['an unknown field', event(',"createdAt":"now"'), 400, 'request_invalid', 'createdAt'],
    ['__proto__', event(',"__proto__":{}'), 400, 'request_invalid', '__proto__'],
    ['a field twice', event(',"payload":2'), 400, 'request_invalid', 'payload'],
    ['a field twice, one of them escaped', event(',"payl\\u006fad":2'), 400, 'request_invalid', 'payload'],
    ['a bad type', '{"type":"a b","payload":1}', 422, 'event_type_invalid', 'type'],
    ['an empty key', event(',"idempotencyKey":""'), 422, 'idempotency_key_invalid', 'idempotencyKey'],
    [
      'half a character as key',
      event(',"idempotencyKey":"\\ud800"'),
      422,
      'idempotency_key_invalid',
      'idempotencyKey',
    ],
    [
      'a key with \\u0000',
      event(',"idempotencyKey":"\\u0000"'),
      422,
      'idempotency_key_invalid',
      'idempotencyKey',
    ],
    [
      '1,001 levels',
      `{"type":"t","payload":${'['.repeat(1001)}${']'.repeat(1001)}}`,
      422,
      'payload_invalid',
      'payload',
    ],
    [
      'a type that is Sagapost’s own',
      '{"type":"saga.completed","payload":1}',
      422,
      'event_type_reserved',
      'type',
    ],
    [
      '19,000 levels',
      `{"type":"t","payload":${'['.repeat(19_000)}${']'.repeat(19_000)}}`,
      422,
      'payload_invalid',
      'payload',
    ],
  ])('[E1, O3] refuses %s and stores nothing', async (_what, body, status, code, field) => {
    const before = await countEvents()
    const answer = await publish(body)
    expect(answer).toMatchObject({ status, body: { status, code } })
    expect(answer.body.errors?.[0]?.field).toBe(field)
    expect(await countEvents()).toBe(before)
  })

  it('[E1, O5] refuses bad headers, drops an invalid trace context', async () => {
    const body = { type: 't', payload: 1 }
    expect(await publish(body, { 'sagapost-correlation-id': 'two words' })).toMatchObject({
      status: 422,
      body: { code: 'event_invalid', errors: [{ field: 'correlationId' }] },
    })
    expect(await publish(body, { 'idempotency-key': 'x'.repeat(256) })).toMatchObject({ status: 422 })
    const dropped = await publish(body, { traceparent: 'nonsense' })
    expect(await stored(dropped.body.id)).toMatchObject({ traceparent: null })
  })

  it('[E1] accepts only JSON: other content types and encodings are 415', async () => {
    const body = JSON.stringify({ type: 't', payload: 1 })
    for (const headers of [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'nonsense' },
      { 'content-encoding': 'gzip' },
    ]) {
      expect(await publish(body, headers as Record<string, string>)).toMatchObject({
        status: 415,
        body: { code: 'content_type_unsupported' },
      })
    }
    expect((await publish(body, { 'content-type': 'application/json; charset=utf-8' })).status).toBe(202)
  })

  it('[E3] a hundred concurrent posts with one key are one event', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => publish({ type: 'same', payload: 1, idempotencyKey: 'hundred' })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    expect(answers.filter(({ body }) => !body.duplicate)).toHaveLength(1)
  })
})

describe('POST /v1/events/batch', () => {
  it('[E1] answers item by item, in order; one bad item does not stop the rest', async () => {
    const { status, body } = await publishBatch({
      events: [
        { type: 'a', payload: 1 },
        { type: 'not a type', payload: 2 },
        { type: 'b', payload: 3, idempotencyKey: 'batch-1' },
        { type: 'b', payload: 4, idempotencyKey: 'batch-1' },
        { type: 'b', payload: 3, idempotencyKey: 'batch-1' },
        17,
        { type: 'c', payload: 5, extra: true },
        { type: 'd', payload: null },
      ],
    })
    expect(status).toBe(202)
    const webhookId = expect.stringMatching(/^evt_\d+_\w+$/)
    expect(body.results).toEqual([
      { id: expect.any(String), type: 'a', createdAt: expect.any(String), duplicate: false, webhookId },
      { error: { code: 'event_type_invalid', detail: expect.any(String) } },
      { id: expect.any(String), type: 'b', createdAt: expect.any(String), duplicate: false, webhookId },
      { error: { code: 'idempotency_conflict', detail: expect.any(String) } },
      { id: body.results[2].id, type: 'b', createdAt: body.results[2].createdAt, duplicate: true, webhookId },
      { error: { code: 'request_invalid', detail: 'event: must be a JSON object' } },
      { error: { code: 'request_invalid', detail: 'extra: is not a known field' } },
      { id: expect.any(String), type: 'd', createdAt: expect.any(String), duplicate: false, webhookId },
    ])
  })

  it('[E1] accepts 1,000 events, but neither one more nor none', async () => {
    const events = Array.from({ length: 1_001 }, (_, index) => ({ type: 'many', payload: index }))
    const full = await publishBatch({ events: events.slice(1) })
    expect(full.status).toBe(202)
    expect(new Set(full.body.results.map(({ id }: { id: string }) => id)).size).toBe(1_000)
    for (const body of [
      { events },
      { events: [] },
      { events: {} },
      {},
      { events: [], more: 1 },
      '{"events":[],"events":[]}',
    ]) {
      expect(await publishBatch(body)).toMatchObject({ status: 400, body: { code: 'request_invalid' } })
    }
    expect(await publishBatch('{"events":[1')).toMatchObject({
      status: 400,
      body: { code: 'request_malformed' },
    })
    const huge = `{"events":[{"type":"t","payload":"${'x'.repeat(17 * 1024 * 1024)}"}]}`
    expect(await publishBatch(huge)).toMatchObject({ status: 413, body: { code: 'request_too_large' } })
  })

  it('[O8] the same batch again under its Idempotency-Key stores nothing new', async () => {
    const events = [
      { type: 'a', payload: 1 },
      { type: 'a', payload: 1 },
      { type: 'b', payload: 2, idempotencyKey: 'own' },
    ]
    const first = await publishBatch({ events }, { 'idempotency-key': 'whole-batch' })
    const again = await publishBatch({ events }, { 'idempotency-key': 'whole-batch' })
    expect(first.body.results.map(({ duplicate }: { duplicate: boolean }) => duplicate)).toEqual([
      false,
      false,
      false,
    ])
    expect(again.body.results).toEqual(
      first.body.results.map((result: object) => ({ ...result, duplicate: true })),
    )
    expect(new Set(first.body.results.map(({ id }: { id: string }) => id)).size).toBe(3)
  })
})

describe('group commit', () => {
  it('[E1] stores single posts that arrive together in one commit, and answers each with its own event', async () => {
    let wakeups = 0
    const store = createEventStore({
      pool: database.as('event_ingest_writer'),
      log: silent(),
      onEventsStored: () => {
        wakeups += 1
      },
    })
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, index) => store.store({ type: 'grouped', payload: String(index) })),
    )
    const { rows } = await database.pool.query(
      `SELECT id, payload::text AS payload, xmin::text AS commit FROM sagapost.events WHERE event_type = 'grouped'`,
    )
    expect(new Set(rows.map(({ commit }) => commit)).size).toBe(1)
    expect(wakeups).toBe(1)
    const payloadOf = new Map(rows.map(({ id, payload }) => [id, payload]))
    expect(outcomes.map((outcome) => ('id' in outcome ? payloadOf.get(outcome.id) : outcome))).toEqual(
      Array.from({ length: 300 }, (_, index) => String(index)),
    )
  })

  describe('while a commit is under way', () => {
    /** Stores one event, which waits for the lock until `release`; both lock waits and commits can be counted. */
    async function withHeldCommit(type: string, flushWaitedForMs?: number) {
      const store = createEventStore({
        pool: database.as('event_ingest_writer'),
        log: silent(),
        onEventsStored: () => {},
        ...(flushWaitedForMs !== undefined && { flushWaitedForMs }),
      })
      const holder = await database.pool.connect()
      onTestFinished(() => holder.release(true))
      await holder.query('BEGIN; LOCK TABLE sagapost.events IN ACCESS EXCLUSIVE MODE')
      const work: Promise<unknown>[] = []
      const add = (count: number) => {
        for (let each = 0; each < count; each++) work.push(store.store({ type, payload: '1' }))
      }
      add(1)
      await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
      const release = async (): Promise<number[]> => {
        await holder.query('ROLLBACK')
        await Promise.all(work)
        const { rows } = await database.pool.query(
          `SELECT count(*)::int FROM sagapost.events WHERE event_type = $1 GROUP BY xmin::text ORDER BY count`,
          [type],
        )
        return rows.map(({ count }) => count)
      }
      return { add, release }
    }

    it('[E1] a few posts wait for its end, a crowd does not', async () => {
      const { add, release } = await withHeldCommit('crowd', 60_000)
      add(15)
      await new Promise((resolve) => setImmediate(resolve))
      add(1)
      await expect.poll(() => countLockWaiters(database.pool)).toBe(2)
      add(3)
      expect(await release()).toEqual([1, 3, 16])
    })

    it('[E1] no post waits for a stuck commit, even after others have passed it', async () => {
      await database.pool.query(`
        CREATE FUNCTION public.be_stuck() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$;
        CREATE TRIGGER be_stuck AFTER INSERT ON sagapost.events
          FOR EACH ROW WHEN (NEW.event_type = 'standing') EXECUTE FUNCTION public.be_stuck()`)
      onTestFinished(async () => {
        await database.pool.query('DROP FUNCTION public.be_stuck CASCADE')
      })
      const holder = await database.pool.connect()
      onTestFinished(() => holder.release(true))
      await holder.query('SELECT pg_advisory_lock(1)')
      const store = createEventStore({
        pool: database.as('event_ingest_writer'),
        log: silent(),
        onEventsStored: () => {},
      })
      const stuck = store.store({ type: 'standing', payload: '1' })
      await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
      for (const payload of ['1', '2', '3']) {
        expect(await store.store({ type: 'passing', payload })).toMatchObject({ duplicate: false })
      }
      expect(await countLockWaiters(database.pool)).toBe(1)
      await holder.query('SELECT pg_advisory_unlock(1)')
      expect(await stuck).toMatchObject({ duplicate: false })
    })

    it('[E1] no post waits for a slow commit', async () => {
      const { add, release } = await withHeldCommit('slow')
      add(1)
      await expect.poll(() => countLockWaiters(database.pool)).toBe(2)
      expect(await release()).toEqual([1, 1])
    })
  })

  it('[E1, S22] a commit that fails is answered as a failure, never with 202', async () => {
    await database.pool.query(`
      CREATE FUNCTION public.fail_at_commit() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the commit fails'; END $$;
      CREATE CONSTRAINT TRIGGER fail_at_commit AFTER INSERT ON sagapost.event_keys DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.key = 'doomed') EXECUTE FUNCTION public.fail_at_commit()`)
    try {
      const answer = await publish({ type: 'doomed', payload: 1, idempotencyKey: 'doomed' })
      expect(answer.status).toBeGreaterThanOrEqual(500)
      const batch = await publishBatch({ events: [{ type: 'doomed', payload: 1, idempotencyKey: 'doomed' }] })
      expect(batch.body.results ?? []).not.toMatchObject([{ id: expect.any(String) }])
    } finally {
      await database.pool.query('DROP TRIGGER fail_at_commit ON sagapost.event_keys')
    }
    const { rows } = await database.pool.query(`SELECT FROM sagapost.events WHERE event_type = 'doomed'`)
    expect(rows).toEqual([])
  })

  it('[E3] a key that expires at that moment is tried once more, and what was stored beside it stays', async () => {
    await publish({ type: 'before', payload: 1, idempotencyKey: 'expiring' })
    await database.pool.query(`
      CREATE SEQUENCE public.tries;
      GRANT USAGE ON SEQUENCE public.tries TO PUBLIC;
      CREATE FUNCTION public.forget_key() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        IF NEW.event_type = 'beside' THEN DELETE FROM sagapost.event_keys WHERE key = 'expiring'; END IF;
        IF NEW.event_type = 'late' AND nextval('public.tries') = 1 THEN
          RAISE EXCEPTION 'as if it were locked' USING ERRCODE = '55P03';
        END IF;
        RETURN NEW; END $$;
      CREATE TRIGGER forget_key BEFORE INSERT ON sagapost.events FOR EACH ROW EXECUTE FUNCTION public.forget_key()`)
    try {
      const { status, body } = await publishBatch({
        events: [
          { type: 'beside', payload: 1 },
          { type: 'late', payload: 1, idempotencyKey: 'expiring' },
        ],
      })
      expect([status, body]).toMatchObject([202, { results: [{ duplicate: false }, { duplicate: false }] }])
      const { rows } = await database.pool.query(
        `SELECT event_type FROM sagapost.events WHERE event_type IN ('beside', 'late') ORDER BY id`,
      )
      expect(rows).toEqual([{ event_type: 'beside' }, { event_type: 'late' }])
      expect((await database.pool.query('SELECT last_value::int FROM public.tries')).rows).toEqual([
        { last_value: 2 },
      ])
    } finally {
      await database.pool.query('DROP FUNCTION public.forget_key() CASCADE; DROP SEQUENCE public.tries')
    }
  })

  it('[E3] a key that an open transaction holds delays no other post, and is answered in the end', async () => {
    const holder = await database.pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query(`SELECT sagapost.publish('held', '1'::json, 'held-key')`)
      // After two seconds they are told to ask again, and on a busy machine the others may take that long.
      const untilAnswered = async (ask: () => Promise<Answer>): Promise<Answer> => {
        const answer = await ask()
        return answer.status === 503 ? untilAnswered(ask) : answer
      }
      const held = Promise.all(
        Array.from({ length: 3 }, () =>
          untilAnswered(() => publish({ type: 'held', payload: 1, idempotencyKey: 'held-key' })),
        ),
      )
      const inBatch = untilAnswered(() =>
        publishBatch({
          events: [
            { type: 'other', payload: 1, idempotencyKey: 'held-key' },
            { type: 'other', payload: 1 },
          ],
        }),
      )
      const others = await Promise.all(
        Array.from({ length: 60 }, (_, index) =>
          publish({
            type: 'free',
            payload: index,
            ...(index % 2 ? { idempotencyKey: `free-${index}` } : {}),
          }),
        ),
      )
      expect(others.filter(({ status }) => status === 202)).toHaveLength(60)
      await expect.poll(() => countLockWaiters(database.pool)).toBeGreaterThan(0)
      await holder.query('COMMIT')
      const answers = await held
      expect(answers.map(({ status, body }) => [status, body.duplicate])).toEqual([
        [202, true],
        [202, true],
        [202, true],
      ])
      const { results } = (await inBatch).body
      const webhookId = expect.any(String)
      expect(results).toEqual([
        { error: { code: 'idempotency_conflict', detail: expect.any(String) } },
        { id: expect.any(String), type: 'other', createdAt: expect.any(String), duplicate: false, webhookId },
      ])
    } finally {
      holder.release()
    }
  })

  it('[E3] a key that stays held is answered with 503, and nothing is stored for it afterwards', async () => {
    const holder = await database.pool.connect()
    try {
      await holder.query('BEGIN')
      for (const key of [1, 2, 3, 4, 5, 6]) {
        await holder.query(`SELECT sagapost.publish('held', '1'::json, $1)`, [`stuck-${key}`])
      }
      const answers = await Promise.all(
        [1, 2, 3, 4, 5, 6].map((key) =>
          publish({ type: 'stuck', payload: 1, idempotencyKey: `stuck-${key}` }),
        ),
      )
      for (const answer of answers) {
        expect(answer).toMatchObject({ status: 503, body: { code: 'idempotency_key_busy' } })
        expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
      }
      await holder.query('ROLLBACK')
    } finally {
      holder.release()
    }
    const { rows } = await database.pool.query(`SELECT FROM sagapost.events WHERE event_type = 'stuck'`)
    expect(rows).toEqual([])
    expect((await publish({ type: 'stuck', payload: 1, idempotencyKey: 'stuck-1' })).status).toBe(202)
  })
})

describe('any body', () => {
  it('[E1, O3] is refused with 4xx, or accepted and kept byte for byte; never a 5xx', async () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.json().map((payload) => `{"type":"fuzz","payload":${payload}}`),
      fc
        .tuple(fc.string(), fc.json({ stringUnit: 'binary' }), fc.string({ unit: 'binary' }))
        .map(
          ([type, payload, key]) =>
            `{"type":${JSON.stringify(type)},"payload":${payload},"idempotencyKey":${JSON.stringify(key)}}`,
        ),
      fc.json().map((item) => `{"events":[${item},{"type":"x","payload":${item}}]}`),
    )
    await fc.assert(
      fc.asyncProperty(hostile, fc.constantFrom('/v1/events', '/v1/events/batch'), async (body, path) => {
        const answer = await api.call('POST', path, { body })
        expect([202, 400, 409, 413, 422]).toContain(answer.status)
        expect(answer.text).not.toMatch(/\n\s+at |node_modules|\.ts:/)
        if (answer.status !== 202 || path !== '/v1/events') return
        const { payload } = await stored(answer.body.id)
        expect(body).toContain(`"payload":${payload}`)
      }),
      { numRuns: 300 },
    )
  })
})

describe('overload', () => {
  it('[E1] is refused before it fills the memory, and waiting posts are still stored', async () => {
    const store = createEventStore({
      pool: database.as('event_ingest_writer'),
      log: silent(),
      onEventsStored: () => {},
    })
    const payload = `"${'x'.repeat(1_000_000)}"`
    const holder = await database.pool.connect()
    await holder.query('BEGIN')
    await holder.query('LOCK TABLE sagapost.events IN ACCESS EXCLUSIVE MODE')
    const waiting = Array.from({ length: 135 }, () => store.store({ type: 'flood', payload }))
    await expect(store.store({ type: 'flood', payload: '1' })).rejects.toMatchObject({ code: 'overloaded' })
    await expect(store.storeBatch([{ type: 'flood', payload: '1' }])).rejects.toMatchObject({
      code: 'overloaded',
    })
    await holder.query('ROLLBACK')
    holder.release()
    expect((await Promise.all(waiting)).filter((outcome) => 'id' in outcome)).toHaveLength(135)
    expect(await store.store({ type: 'flood', payload: '1' })).toMatchObject({ duplicate: false })
  })
})
