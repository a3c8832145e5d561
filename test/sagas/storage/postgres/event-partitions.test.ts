import { beforeAll, describe, expect, it } from 'vitest'
import { keepPartitionsAhead } from '../../../../src/database/index.js'
import {
  createCoordinator,
  createPostgresStorage,
  type StateStorage,
  saga,
} from '../../../../src/sagas/index.js'
import { selectEvents } from '../../../../src/sagas/storage/postgres/read-sagas.js'
import { installClock, moveClock } from '../../../support/clock.js'
import { useDatabase } from '../../../support/database.js'
import { explain } from '../../../support/explain.js'
import { codeOf } from '../../../support/refusal.js'
import { expectHistoryToReplay } from '../../history.js'

const definition = saga('partitioned')
  .step('one', { run: () => 1 })
  .step('two', { run: () => 2 })

/** Months differ in length, and the partitions of one begin where the last one ended. */
const days = [
  ['an ordinary day', '2031-03-10 10:30:00Z'],
  ['a day that the next month lacks', '2031-01-30 12:20:00Z'],
  ['the end of a leap day', '2032-02-29 23:59:58Z'],
] as const

describe.each(days)('[G15] saga_events, partitioned by time, begun on %s', (_, today) => {
  const database = useDatabase()
  let storage: StateStorage
  let before: string

  const runOne = async () => {
    const coordinator = createCoordinator({
      storage,
      definitions: [definition],
      onError: (error) => {
        throw error
      },
    })
    const handle = await coordinator.start(definition, undefined)
    expect((await handle.result()).state).toBe('Completed')
    await coordinator.stop()
    return handle.id
  }
  const partitions = async () => {
    const { rows } = await database
      .as('saga_readonly_role')
      .query('SELECT partition_name FROM sagapost.saga_event_partitions')
    return rows.map(({ partition_name }) => partition_name as string)
  }
  const answerTo = async (sql: string, values: unknown[] = []) => {
    const { rows } = await database.as('schema_maintainer').query(`SELECT ${sql} AS value`, values)
    return rows[0].value
  }
  /** Of each index on a table of events, but for its name. */
  const indexesOf = async (table: string) => {
    const { rows } = await database.pool.query(
      `SELECT regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', '') AS definition
       FROM pg_index WHERE indrelid = ('sagapost.' || $1)::regclass ORDER BY 1`,
      [table],
    )
    return rows.map(({ definition: text }) => text)
  }

  beforeAll(async () => {
    storage = createPostgresStorage({ pool: database.as('saga_app_role') })
    await installClock(database.pool)
    await database.pool.query('UPDATE test_clock.shift SET by = $1::timestamptz - pg_catalog.now()', [today])
    before = await runOne()
    expect(await answerTo('sagapost.ensure_saga_event_partitions()')).toBe(0)
    await database.pool.query(`SELECT sagapost.partition_saga_events('1 month')`)
  })

  it('keeps the empty partitions of the future, whatever time is given', async () => {
    const there = await partitions()
    expect(await answerTo(`sagapost.drop_saga_event_partitions('infinity')`)).toBe(0)
    expect(await partitions()).toEqual(there)
  })

  it('keeps the existing history, and switching it on again does nothing', async () => {
    await database.pool.query('SELECT sagapost.partition_saga_events()')
    await expectHistoryToReplay(storage, before)
    const [first, ...ahead] = await partitions()
    expect(first).toBe('saga_events_before')
    expect(ahead).toEqual(ahead.map(() => expect.stringMatching(/^saga_events_from_\d{8}t\d{4}$/)))
    // As many as three months need, and no more.
    const { rows } = await database.pool.query(
      `SELECT max(to_time) > sagapost.now() + interval '3 months' AS enough,
              max(from_time) > sagapost.now() + interval '3 months' AS too_many
       FROM sagapost.saga_event_partitions`,
    )
    expect(rows).toEqual([{ enough: true, too_many: false }])
  })

  it('[O3] has the same bounds for every reader, whatever DateStyle and TimeZone its session has', async () => {
    const client = await database.pool.connect()
    const boundsIn = async (style: string, zone: string) => {
      await client.query(`SELECT set_config('DateStyle', $1, false), set_config('TimeZone', $2, false)`, [
        style,
        zone,
      ])
      const { rows } = await client.query(
        `SELECT partition_name, extract(epoch FROM from_time)::text AS from_time, extract(epoch FROM to_time)::text AS to_time
         FROM sagapost.saga_event_partitions ORDER BY partition_name`,
      )
      return rows
    }
    try {
      const expected = await boundsIn('ISO, YMD', 'UTC')
      expect(expected.length).toBeGreaterThan(2)
      // Its abbreviations mean another zone elsewhere: IST is India's, Israel's and Ireland's.
      expect(await boundsIn('SQL, DMY', 'Asia/Kolkata')).toEqual(expected)
      expect(await boundsIn('Postgres, MDY', 'Asia/Shanghai')).toEqual(expected)
      expect(await boundsIn('German, DMY', 'Europe/Dublin')).toEqual(expected)
    } finally {
      await client.query('RESET DateStyle; RESET TimeZone')
      client.release()
    }
  })

  it('runs sagas as before, with their history in the newest partitions and in order', async () => {
    await moveClock(database.pool, '1 hour')
    const id = await runOne()
    await expectHistoryToReplay(storage, id)
    const { rows } = await database.pool.query(
      'SELECT DISTINCT relname::text AS name FROM sagapost.saga_events AS event JOIN pg_class ON pg_class.oid = event.tableoid WHERE saga_id = $1',
      [id],
    )
    expect(rows).toEqual([{ name: (await partitions())[1] }])
  })

  it('has the same indexes, keys and guards in every partition', async () => {
    const parent = await indexesOf('saga_events')
    expect(parent).toHaveLength(9)
    for (const name of await partitions()) {
      expect(await indexesOf(name)).toEqual(parent)
      for (const sql of [`DELETE FROM sagapost.${name}`, `TRUNCATE sagapost.${name}`]) {
        if (sql.startsWith('TRUNCATE') || name === 'saga_events_before') {
          expect(await codeOf(database.pool.query(sql))).toBe('append_only')
        }
      }
    }
    expect(await codeOf(database.pool.query('DELETE FROM sagapost.saga_events'))).toBe('append_only')
    const orphan = `INSERT INTO sagapost.saga_events (saga_id, event_type) VALUES ('nobody', 'saga.started')`
    expect(await codeOf(database.pool.query(orphan))).toBe('saga_not_found')
  })

  it('finds a history by index, and looks only into the partitions of the time that was asked for', async () => {
    const plan = await explain(database.pool, selectEvents, [before])
    expect(plan.indexes.some((index) => index.startsWith('idx_event_saga_timestamp'))).toBe(true)
    const { rows } = await database.pool.query(
      `EXPLAIN SELECT FROM sagapost.saga_events WHERE "timestamp" > sagapost.now() + interval '2 months' - interval '1 hour'
         AND "timestamp" < timestamptz '${today}' + interval '65 days'`,
    )
    const text = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(text).not.toContain('saga_events_before')
  })

  it('is created ahead of time, and without a gap', async () => {
    await answerTo('sagapost.ensure_saga_event_partitions()')
    expect(await answerTo('sagapost.ensure_saga_event_partitions()')).toBe(0)
    await moveClock(database.pool, '62 days')
    expect(await answerTo('sagapost.ensure_saga_event_partitions()')).toBeGreaterThanOrEqual(2)
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS gaps FROM (
         SELECT from_time <> lag(to_time) OVER (ORDER BY from_time) AS gap FROM sagapost.saga_event_partitions
       ) AS pair WHERE gap`,
    )
    expect(rows).toEqual([{ gaps: 0 }])
    await expectHistoryToReplay(storage, await runOne())
  })

  it('[G3] is created ahead by every process with parts', async () => {
    await moveClock(database.pool, '31 days')
    const known = (await partitions()).length
    const errors: Error[] = []
    const loop = keepPartitionsAhead({
      pool: database.as('schema_maintainer'),
      onError: (error) => errors.push(error),
    })
    await expect.poll(async () => (await partitions()).length).toBeGreaterThan(known)
    await loop.stop()
    expect(errors).toEqual([])
  })

  it('drops old partitions only when no remaining saga has its history there', async () => {
    const old = (await partitions()).slice(0, 2)
    const { rows } = await database.pool.query(
      'SELECT to_time FROM sagapost.saga_event_partitions ORDER BY from_time LIMIT 2',
    )
    // A saga that began long ago and is not finished.
    const open = await storage.startSaga({
      id: 'open',
      definitionId: 'elsewhere',
      definitionVersion: 1,
      idempotencyKey: null,
      input: undefined,
      timeoutMs: null,
      retryPolicy: definition.retry,
      metadata: null,
      traceId: 'a'.repeat(32),
      spanId: 'b'.repeat(16),
      steps: [{ name: 'one', maxAttempts: 1 }],
    })
    await database.pool.query(
      `INSERT INTO sagapost.saga_events (saga_id, event_type, "timestamp", sequence)
       VALUES ($1, 'state.changed', $2::timestamptz - interval '1 minute', 1)`,
      [open.saga.id, rows[1].to_time],
    )
    const drop = () => answerTo('sagapost.drop_saga_event_partitions($1)', [rows[1].to_time])
    // Finished sagas keep their history for as long as they are there.
    expect(await drop()).toBe(0)
    await expectHistoryToReplay(storage, before)
    expect(await storage.cleanUpExpired(rows[1].to_time)).toBe(2)
    expect(await drop()).toBe(1)
    expect(await partitions()).toEqual(expect.not.arrayContaining([old[0]]))
    expect(await partitions()).toContain(old[1])
    await database.pool.query('DELETE FROM sagapost.saga_instances WHERE id = $1', [open.saga.id])
    expect(await drop()).toBe(1)
    expect(await partitions()).not.toContain(old[1])
    await expectHistoryToReplay(storage, await runOne())
  })
})

describe('[G15] the period of the partitions of saga_events', () => {
  const database = useDatabase()
  const maintain = () =>
    database.as('schema_maintainer').query('SELECT sagapost.ensure_saga_event_partitions()')
  const lengths = async () => {
    const { rows } = await database.pool.query(
      `SELECT DISTINCT extract(epoch FROM to_time - from_time)::int / 3600 AS hours
       FROM sagapost.saga_event_partitions WHERE from_time > '-infinity' ORDER BY hours`,
    )
    return rows.map(({ hours }) => hours)
  }

  it('that was chosen stays, week after week', async () => {
    await installClock(database.pool)
    await database.pool.query(`SELECT sagapost.partition_saga_events('1 week')`)
    for (let week = 0; week < 10; week++) {
      await moveClock(database.pool, '1 week')
      await maintain()
    }
    expect(await lengths()).toEqual([7 * 24])
    const { rows } = await database.pool.query(
      `SELECT max(to_time) > sagapost.now() + interval '3 weeks' AS enough,
              max(from_time) > sagapost.now() + interval '3 weeks' AS too_many FROM sagapost.saga_event_partitions`,
    )
    expect(rows).toEqual([{ enough: true, too_many: false }])
  })

  it('can be changed by naming another, and then stays that', async () => {
    await database.as('schema_maintainer').query(`SELECT sagapost.ensure_saga_event_partitions('1 day', 30)`)
    await moveClock(database.pool, '40 days')
    await maintain()
    expect(await lengths()).toEqual([24, 7 * 24])
    const { rows } = await database.pool.query('SELECT saga_events_every FROM sagapost.partition_settings')
    expect(rows[0].saga_events_every).toMatchObject({ days: 1 })
  })
})
