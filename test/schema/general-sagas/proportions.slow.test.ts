import { beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { type Load, loadSagas } from './load-sagas.js'
import { planOf } from './plan-of.js'

const sizes: Omit<Load, 'ids'> = { instances: 20_000, definitions: 5, stepsPerSaga: 3, eventsPerSaga: 4 }

/** Of the sagas that have not ended, of the failed steps that have attempts left, and of the ended sagas that are Completed. */
const proportions: readonly [number, number, number?][] = [
  [0.0005, 1, 0.999],
  [0.001, 1, 0.99],
  [0.001, 0.9, 0.96],
  [0.01, 0],
  [0.01, 0.5],
  [0.01, 1],
  [0.1, 0.9],
  [0.3, 1],
]
const loads = proportions.flatMap(([unfinishedShare, retryableShare, completedShare = 0.9], place) => ({
  ...sizes,
  unfinishedShare,
  retryableShare,
  completedShare,
  ids: place % 2 === 0 ? ('random' as const) : ('growing' as const),
}))

describe.each(loads)(
  'with $unfinishedShare of all sagas unfinished and attempts left in $retryableShare of the failed steps ($ids ids)',
  (load) => {
    const database = useDatabase()
    let saga: string
    let trace: string

    beforeAll(async () => {
      await loadSagas(database.pool, load)
      const { rows } = await database.pool.query(
        `SELECT id, trace_id FROM sagapost.saga_instances WHERE trace_id IS NOT NULL ORDER BY created_at OFFSET 5000 LIMIT 1`,
      )
      saga = rows[0].id
      trace = rows[0].trace_id
    })

    it('[G10] each of the six patterns uses the index that is named for it', async () => {
      const patterns: [string, string, string?][] = [
        [
          'idx_saga_state_created',
          'SELECT * FROM sagapost.saga_instances WHERE state IN (1, 2, 4) ORDER BY created_at',
        ],
        [
          'idx_saga_filter_state_timeout',
          `SELECT * FROM sagapost.saga_instances
           WHERE state IN (1, 2, 4) AND created_at < NOW() - INTERVAL '1 hour'`,
        ],
        [
          'idx_step_saga_index',
          'SELECT * FROM sagapost.saga_steps WHERE saga_id = $1 ORDER BY step_index',
          saga,
        ],
        [
          'idx_event_saga_timestamp',
          'SELECT * FROM sagapost.saga_events WHERE saga_id = $1 ORDER BY timestamp DESC',
          saga,
        ],
        [
          'idx_step_state_attempts',
          'SELECT * FROM sagapost.saga_steps WHERE state = 3 AND attempts < max_attempts',
        ],
        ['idx_saga_trace_id', 'SELECT * FROM sagapost.saga_instances WHERE trace_id = $1', trace],
        [
          'idx_event_trace_id',
          'SELECT * FROM sagapost.saga_events WHERE trace_id = $1 ORDER BY timestamp',
          trace,
        ],
      ]
      const used: Record<string, unknown> = {}
      const wanted: Record<string, unknown> = {}
      for (const [index, statement, parameter] of patterns) {
        used[statement] = await planOf(database.pool, statement, parameter)
        wanted[statement] = { forValue: [index], forAnyValue: [index] }
      }
      expect(used).toEqual(wanted)
    })
  },
)
