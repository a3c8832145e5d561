import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { insertEvent } from '../support/fixtures.js'
import { countLockWaiters } from '../support/lock-waiters.js'
import { codeOf, outcomeOf } from '../support/refusal.js'

const database = useDatabase()

async function publish(...[type, payload, key]: [string, string, string?]): Promise<string> {
  const { rows } = await database
    .as('event_ingest_writer')
    .query('SELECT sagapost.publish($1, $2::json, $3) AS id', [type, payload, key ?? null])
  return rows[0].id
}

async function eventsOf(type: string): Promise<{ id: string; payload: string }[]> {
  const { rows } = await database.pool.query(
    'SELECT id, payload::text FROM sagapost.events WHERE event_type = $1 ORDER BY id',
    [type],
  )
  return rows
}

describe('sagapost.publish', () => {
  it('[E1] stores the event byte for byte, whatever JSON it is', async () => {
    const payloads = [
      '{ "b": 1,  "a": 2, "a": 3 }',
      '"\\u0000"',
      '"\\ud800"',
      '1e100000',
      'null',
      `${'['.repeat(1000)}${']'.repeat(1000)}`,
      '\t{"é":"💡"}\n',
    ]
    for (const payload of payloads) await publish('bytes.kept', payload)
    expect((await eventsOf('bytes.kept')).map(({ payload }) => payload)).toEqual(payloads)
  })

  it('[E3] stores an event once per key and answers with the same id', async () => {
    const id = await publish('key.once', '{"n": 1}', 'once')
    expect(await publish('key.once', '{"n": 1}', 'once')).toBe(id)
    expect(await eventsOf('key.once')).toHaveLength(1)
  })

  it('[E3] stores every event that has no key', async () => {
    await publish('key.none', '{"n": 1}')
    await publish('key.none', '{"n": 1}')
    expect(await eventsOf('key.none')).toHaveLength(2)
  })

  it.each([
    ['another payload', 'key.reused', '{"n": 2}'],
    ['other bytes of the same value', 'key.reused', '{"n":1}'],
    ['another type', 'key.other', '{"n": 1}'],
  ])('[E3] refuses a used key with %s and names the event that has it', async (_what, type, payload) => {
    const id = await publish('key.reused', '{"n": 1}', 'reused')
    const before = await database.pool.query('SELECT count(*) FROM sagapost.events')
    const outcome = await outcomeOf(publish(type, payload, 'reused'))
    expect(outcome).toEqual({
      code: 'idempotency_conflict',
      sqlState: 'SP007',
      constraint: 'event_key_conflict',
    })
    await expect(publish(type, payload, 'reused')).rejects.toThrow(`(id ${id})`)
    expect((await database.pool.query('SELECT count(*) FROM sagapost.events')).rows).toEqual(before.rows)
  })

  it('[E3] two transactions with one key: the second waits and gets the id of the first', async () => {
    const first = await database.pool.connect()
    await first.query('BEGIN')
    const { rows } = await first.query(`SELECT sagapost.publish('key.race', '{}', 'race') AS id`)
    const second = publish('key.race', '{}', 'race')
    await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
    await first.query('COMMIT')
    first.release()
    expect(await second).toBe(rows[0].id)
    expect(await eventsOf('key.race')).toHaveLength(1)
  })

  it('[E3] a key is free again when the transaction that used it rolls back', async () => {
    const first = await database.pool.connect()
    await first.query('BEGIN')
    await first.query(`SELECT sagapost.publish('key.rollback', '{"n": 1}', 'rollback')`)
    const second = publish('key.rollback', '{"n": 2}', 'rollback')
    await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
    await first.query('ROLLBACK')
    first.release()
    const id = await second
    expect(await eventsOf('key.rollback')).toMatchObject([{ id, payload: '{"n": 2}' }])
  })

  it('[E3] a key that expires during its lookup is free again', async () => {
    const first = await publish('key.expiring', '{"n": 1}')
    // Stands for another call that stores the key after the look for it, and for expire_event_keys before the next look.
    await database.pool.query(`
      CREATE FUNCTION public.come_and_go() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF pg_trigger_depth() > 1 THEN
          RETURN NULL;
        ELSIF TG_WHEN = 'AFTER' THEN
          DELETE FROM sagapost.event_keys WHERE key = 'expiring' AND event_id = ${first};
        ELSIF current_setting('test.came', true) IS DISTINCT FROM 'yes' THEN
          PERFORM set_config('test.came', 'yes', true);
          INSERT INTO sagapost.event_keys (key, event_id, fingerprint) VALUES ('expiring', ${first}, sha256('other'));
        END IF;
        RETURN NULL; END $$;
      CREATE TRIGGER come BEFORE INSERT ON sagapost.event_keys
        FOR EACH STATEMENT EXECUTE FUNCTION public.come_and_go();
      CREATE TRIGGER go AFTER INSERT ON sagapost.event_keys
        FOR EACH STATEMENT EXECUTE FUNCTION public.come_and_go()`)
    try {
      const second = await publish('key.expiring', '{"n": 2}', 'expiring')
      expect(second).not.toBe(first)
      expect(await publish('key.expiring', '{"n": 2}', 'expiring')).toBe(second)
    } finally {
      await database.pool.query(
        'DROP TRIGGER come ON sagapost.event_keys; DROP TRIGGER go ON sagapost.event_keys',
      )
    }
  })

  it('[E1] accepts json, jsonb and plain literals', async () => {
    const ingest = database.as('event_ingest_writer')
    await ingest.query(`SELECT sagapost.publish('overloads', '{"a":  1}')`)
    await ingest.query(`SELECT sagapost.publish('overloads', '{"a":  1}'::json)`)
    await ingest.query(`SELECT sagapost.publish('overloads', '{"a":  1}'::jsonb)`)
    await ingest.query(`SELECT sagapost.publish(event_type => 'overloads', payload => '{"a":  1}'::text)`)
    expect((await eventsOf('overloads')).map(({ payload }) => payload)).toEqual([
      '{"a":  1}',
      '{"a":  1}',
      '{"a": 1}',
      '{"a":  1}',
    ])
  })

  it('[O5] keeps the correlation id and passes it to the routing queue', async () => {
    const { rows } = await database
      .as('event_ingest_writer')
      .query(`SELECT sagapost.publish('correlated', '{}', correlation_id => 'corr-9') AS id`)
    const queued = await database
      .as('router_worker')
      .query('SELECT event_type, correlation_ids FROM sagapost.event_routing_queue WHERE event_ids = $1', [
        [rows[0].id],
      ])
    expect(queued.rows).toEqual([{ event_type: 'correlated', correlation_ids: ['corr-9'] }])
  })

  it.each([
    ['a type with a space', 'order placed', '{}', null, 'event_type_invalid'],
    ['an empty type', '', '{}', null, 'event_type_invalid'],
    ['a type of 101 characters', 'x'.repeat(101), '{}', null, 'event_type_invalid'],
    ['no type', null, '{}', null, 'SQLSTATE 23502'],
    ['no payload', 'order.placed', null, null, 'payload_invalid'],
    ['what is not JSON', 'order.placed', '{"a": }', null, 'payload_invalid'],
    ['an empty key', 'order.placed', '{}', '', 'idempotency_key_invalid'],
    ['a key of 256 characters', 'order.placed', '{}', 'k'.repeat(256), 'idempotency_key_invalid'],
    [
      'a key that is too long by spaces',
      'order.placed',
      '{}',
      `k${' '.repeat(255)}`,
      'idempotency_key_invalid',
    ],
  ])('[E1, E3] refuses %s and stores nothing', async (_what, type, payload, key, code) => {
    const count = async () =>
      (await database.pool.query('SELECT count(*) FROM sagapost.events')).rows[0].count
    const before = await count()
    const call = database
      .as('event_ingest_writer')
      .query('SELECT sagapost.publish($1::text, $2::text, $3)', [type, payload, key])
    expect(await codeOf(call)).toBe(code)
    expect(await count()).toBe(before)
  })

  it('[E4] is not affected by objects of the caller', async () => {
    const client = await database.pool.connect()
    try {
      await client.query(
        `CREATE FUNCTION public.nextval(text) RETURNS bigint LANGUAGE sql AS 'SELECT 666::bigint'`,
      )
      await client.query(
        `CREATE FUNCTION public.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT '\\x00'::bytea $$`,
      )
      await client.query(`SET search_path = public, pg_catalog`)
      const { rows } = await client.query(`SELECT sagapost.publish('astray', '{}'::json, 'astray') AS id`)
      expect(rows[0].id).not.toBe('666')
    } finally {
      client.release(true)
    }
  })
})

describe('the routing queue', () => {
  const queued = async (ids: string[]) => {
    const { rows } = await database.pool.query(
      'SELECT event_id FROM sagapost.unrouted_events WHERE event_id = ANY ($1) ORDER BY event_id',
      [ids],
    )
    return rows.map((row) => row.event_id)
  }

  it('[R1] queues every event of a plain INSERT of many rows', async () => {
    const { rows } = await database
      .as('event_ingest_writer')
      .query(
        `INSERT INTO sagapost.events (event_type, payload) SELECT 'many', to_json(n) FROM generate_series(1, 500) AS n RETURNING id`,
      )
    const ids = rows.map((row) => row.id)
    expect(ids).toHaveLength(500)
    expect(await queued(ids)).toEqual(ids)
  })

  it('[R1] queues events that are inserted into a partition directly', async () => {
    const { rows } = await database.pool.query(
      `INSERT INTO sagapost.events_from_0 (event_type, payload) VALUES ('direct', '{}') RETURNING id`,
    )
    expect(await queued([rows[0].id])).toEqual([rows[0].id])
  })

  it('[R1] queues an event that commits late with an earlier id', async () => {
    const late = await database.pool.connect()
    await late.query('BEGIN')
    const lateId = await insertEvent(late)
    const earlyId = await insertEvent(database.pool)
    expect(Number(earlyId)).toBeGreaterThan(Number(lateId))
    expect(await queued([lateId, earlyId])).toEqual([earlyId])
    await late.query('COMMIT')
    late.release()
    expect(await queued([lateId, earlyId])).toEqual([lateId, earlyId])
  })
})

describe('expire_event_keys', () => {
  it('[E3] deletes keys older than the window, in bounded steps, and no younger ones', async () => {
    await database.pool.query(
      `INSERT INTO sagapost.event_keys (key, event_id, fingerprint, created_at)
       SELECT 'old-' || n, n, sha256(''), sagapost.now() - interval '31 days' FROM generate_series(1, 25) AS n`,
    )
    await publish('key.young', '{}', 'young')
    await database.pool.query(
      `INSERT INTO sagapost.event_keys (key, event_id, fingerprint, created_at)
       VALUES ('inside', 1, sha256(''), sagapost.now() - interval '29 days 23 hours')`,
    )
    const expire = async () => {
      const { rows } = await database
        .as('schema_maintainer')
        .query(`SELECT sagapost.expire_event_keys(sagapost.now() - interval '30 days', 10) AS gone`)
      return rows[0].gone
    }
    expect([await expire(), await expire(), await expire(), await expire()]).toEqual([10, 10, 5, 0])
    const left = async () => {
      const { rows } = await database.pool.query(
        `SELECT key FROM sagapost.event_keys WHERE key IN ('young', 'inside') ORDER BY key`,
      )
      return rows.map(({ key }) => key)
    }
    expect(await left()).toEqual(['inside', 'young'])
    await database.as('schema_maintainer').query(`SELECT sagapost.expire_event_keys('infinity')`)
    expect(await left()).toEqual(['young'])
  })
})
