import { beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { inRolledBackTransaction } from './fixtures.js'
import { type Load, loadSagas } from './load-sagas.js'
import { planOf } from './plan-of.js'

const loads: (Load & { title: string })[] = [
  {
    title: '100,000 sagas of 20 definitions with random ids',
    instances: 100_000,
    definitions: 20,
    stepsPerSaga: 3,
    eventsPerSaga: 4,
    ids: 'random',
  },
  {
    // Draws the planner to other indexes than random ids and many definitions do.
    title: '20,000 sagas of one definition with ids that grow with time',
    instances: 20_000,
    definitions: 1,
    stepsPerSaga: 3,
    eventsPerSaga: 6,
    ids: 'growing',
  },
]

describe.each(loads)('with $title', (load) => {
  const database = useDatabase()
  let saga: string
  let trace: string

  beforeAll(async () => {
    await loadSagas(database.pool, load)
    const { rows } = await database.pool.query(
      `SELECT id, trace_id FROM sagapost.saga_instances WHERE trace_id IS NOT NULL AND created_at > '-infinity' ORDER BY created_at OFFSET 9000 LIMIT 1`,
    )
    saga = rows[0].id
    trace = rows[0].trace_id
  })

  async function expectIndex(index: string, statement: string, parameter?: string): Promise<void> {
    expect(await planOf(database.pool, statement, parameter)).toEqual({
      forValue: [index],
      forAnyValue: [index],
    })
  }

  it('[G10] pattern 1, active sagas by creation, uses idx_saga_state_created', async () => {
    await expectIndex(
      'idx_saga_state_created',
      'SELECT * FROM sagapost.saga_instances WHERE state IN (1, 2, 4) ORDER BY created_at',
    )
  })

  it('[G10] pattern 2, active sagas older than an hour, uses idx_saga_filter_state_timeout', async () => {
    await expectIndex(
      'idx_saga_filter_state_timeout',
      `SELECT * FROM sagapost.saga_instances
       WHERE state IN (1, 2, 4) AND created_at < sagapost.now() - INTERVAL '1 hour'`,
    )
  })

  it('[G10] pattern 2 does so with NOW() too', async () => {
    await expectIndex(
      'idx_saga_filter_state_timeout',
      `SELECT * FROM sagapost.saga_instances
       WHERE state IN (1, 2, 4) AND created_at < NOW() - INTERVAL '1 hour'`,
    )
  })

  it('[G10] pattern 3, the steps of a saga, uses idx_step_saga_index', async () => {
    await expectIndex(
      'idx_step_saga_index',
      'SELECT * FROM sagapost.saga_steps WHERE saga_id = $1 ORDER BY step_index',
      saga,
    )
  })

  it('[G10] pattern 4, the history of a saga, uses idx_event_saga_timestamp', async () => {
    await expectIndex(
      'idx_event_saga_timestamp',
      'SELECT * FROM sagapost.saga_events WHERE saga_id = $1 ORDER BY timestamp DESC',
      saga,
    )
  })

  it('[G10] pattern 5, steps to retry, uses idx_step_state_attempts', async () => {
    await expectIndex(
      'idx_step_state_attempts',
      'SELECT * FROM sagapost.saga_steps WHERE state = 3 AND attempts < max_attempts',
    )
  })

  it('[G10] [G17] pattern 6, by trace id, uses idx_saga_trace_id and idx_event_trace_id', async () => {
    await expectIndex('idx_saga_trace_id', 'SELECT * FROM sagapost.saga_instances WHERE trace_id = $1', trace)
    await expectIndex(
      'idx_event_trace_id',
      'SELECT * FROM sagapost.saga_events WHERE trace_id = $1 ORDER BY timestamp',
      trace,
    )
  })

  it('[G10] a page of active sagas, bounded by created_at, uses idx_saga_filter_state_timeout', async () => {
    await expectIndex(
      'idx_saga_filter_state_timeout',
      `SELECT * FROM sagapost.saga_instances
       WHERE state IN (1, 2, 4) AND created_at > '-infinity' ORDER BY created_at LIMIT 50`,
    )
  })

  it('[G10] active sagas that have not moved for five minutes use idx_saga_state_updated', async () => {
    await expectIndex(
      'idx_saga_state_updated',
      `SELECT * FROM sagapost.saga_instances
       WHERE state IN (1, 2, 4) AND updated_at < sagapost.now() - INTERVAL '5 minutes'`,
    )
  })

  it('[G7] a page of each view comes from an index, in its order', async () => {
    await expectIndex('idx_saga_terminal_cleanup', 'SELECT * FROM sagapost.failed_sagas LIMIT 20')
    await expectIndex('idx_saga_completed_at', 'SELECT * FROM sagapost.completed_sagas LIMIT 20')
    await expectIndex('idx_saga_state_created', 'SELECT * FROM sagapost.active_sagas')
  })

  it('[G4] sagas by the time of their last change or of their start, and the events of a step, have an index each', async () => {
    for (const column of ['updated_at', 'started_at']) {
      const { rows } = await database.pool.query(
        `SELECT (max(${column}) - interval '10 minutes')::text AS bound FROM sagapost.saga_instances`,
      )
      const statement = `SELECT * FROM sagapost.saga_instances WHERE ${column} > $1::timestamptz`
      const { forValue } = await planOf(database.pool, statement, rows[0].bound)
      expect(forValue).toEqual([`idx_saga_${column}`])
    }
    const { rows } = await database.pool.query(
      'SELECT step_id FROM sagapost.saga_events WHERE saga_id = $1 AND step_id IS NOT NULL',
      [saga],
    )
    await expectIndex(
      'idx_event_step_id',
      'SELECT * FROM sagapost.saga_events WHERE step_id = $1',
      rows[0].step_id,
    )
  })

  it('[G4] metadata is found by what it contains, through idx_saga_metadata', async () => {
    await expectIndex(
      'idx_saga_metadata',
      `SELECT * FROM sagapost.saga_instances WHERE metadata @> '{"tenant": 7}'`,
    )
  })

  it('[G8] cleanup_expired_sagas uses idx_saga_terminal_cleanup, and neither it nor the cascade scans', async () => {
    await inRolledBackTransaction(database.pool, async (client) => {
      const scansOf = async (relations: string[]) => {
        const { rows } = await client.query(
          `SELECT coalesce(sum(pg_stat_get_xact_numscans(('sagapost.' || relation)::regclass)), 0)::int AS scans
           FROM unnest($1::text[]) AS relation`,
          [relations],
        )
        return rows[0].scans
      }
      const { rows } = await client.query(
        `SELECT sagapost.cleanup_expired_sagas(min(created_at) + $1 * interval '30 s') AS removed
         FROM sagapost.saga_instances WHERE created_at > '-infinity'`,
        [load.instances * 0.02],
      )
      expect(rows[0].removed).toBe(load.instances * 0.02)
      expect(await scansOf(['idx_saga_terminal_cleanup'])).toBe(1)
      expect(await scansOf(['saga_instances', 'saga_steps', 'saga_events'])).toBe(0)
    })
  })
})
