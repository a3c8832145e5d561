import type pg from 'pg'
import { allowAnyBeginning } from './fixtures.js'

export interface Load {
  instances: number
  definitions: number
  stepsPerSaga: number
  eventsPerSaga: number
  /** Random (UUID 4), or growing with time (UUID 7): it decides how costly the planner thinks a saga's rows are. */
  ids: 'random' | 'growing'
  /** Of all sagas, those that have not ended, which are the newest; 1 % unless told. */
  unfinishedShare?: number
  /** Of those that have ended, the Completed ones; 90 % unless told. */
  completedShare?: number
  /** Of the failed steps, those with attempts left; unless told, those of unfinished sagas. */
  retryableShare?: number
}

/** Pending 0.1 %, active 0.9 % and the newest, of the rest 90 % Completed; one saga every 30 seconds. */
const insertInstances = `
  INSERT INTO sagapost.saga_instances
    (id, definition_id, name, state, current_step, total_steps, created_at, updated_at, started_at, completed_at,
     initial_data, metadata, timeout_ms, trace_id)
  SELECT
    CASE WHEN $3 = 'random' THEN md5('saga' || i)::uuid::text
         ELSE format('%s-%s-7000-8000-%s', lpad(to_hex(i), 8, '0'), left(md5(i::text), 4), left(md5(i::text), 12))
    END,
    'definition-' || i % $2, 'order ' || i, s.state, 1, $4, s.began, s.began + interval '20 s',
    CASE WHEN s.state <> 0 THEN s.began + interval '1 s' END,
    CASE WHEN s.state IN (3, 5, 6, 7, 8) THEN s.began + interval '19 s' END,
    jsonb_build_object('order', i, 'note', repeat('x', 60)), jsonb_build_object('tenant', i % 500), 600000,
    CASE WHEN i % 2 = 0 THEN md5('trace' || i) END
  FROM generate_series(1, $1::int) AS i
  CROSS JOIN LATERAL (
    SELECT
      CASE WHEN i > $1 * (1 - $5::float8) THEN (ARRAY[0, 1, 1, 1, 1, 1, 2, 2, 4, 4])[1 + i % 10]
           WHEN i % 1000 < $6::float8 * 1000 THEN 3
           ELSE (ARRAY[5, 5, 5, 5, 6, 6, 6, 7, 7, 8])[1 + i % 10] END AS state,
      sagapost.now() - ($1 - i) * interval '30 s' AS began
  ) AS s`

/** The second step of an unfinished saga failed now and then, with attempts left; of a failed one, without. */
const insertSteps = `
  INSERT INTO sagapost.saga_steps (id, saga_id, step_index, name, state, attempts, max_attempts, created_at)
  SELECT
    s.id || '/' || place, s.id, place, 'step ' || place,
    CASE WHEN s.state = 3 OR place = 0 THEN 2
         WHEN place > 1 THEN 0
         WHEN s.state IN (0, 1, 2, 4) AND s.trace_id IS NULL THEN 1
         ELSE 3 END,
    CASE WHEN $2::float8 IS NULL THEN CASE WHEN s.state IN (5, 6, 7, 8) THEN 3 ELSE 1 END
         WHEN abs(hashtext(s.id)) % 1000 < $2 * 1000 THEN 1 ELSE 3 END, 3, s.created_at
  FROM sagapost.saga_instances AS s CROSS JOIN generate_series(0, $1::int - 1) AS place
  ORDER BY s.created_at, place`

const insertEvents = `
  INSERT INTO sagapost.saga_events (saga_id, event_type, step_id, step_index, "timestamp", trace_id)
  SELECT
    s.id, (ARRAY['saga.completed', 'saga.started', 'saga.step.started', 'saga.step.completed'])[1 + n % 4],
    CASE WHEN n % 4 > 1 THEN s.id || '/' || 0 END, CASE WHEN n % 4 > 1 THEN 0 END,
    s.created_at + n * interval '17 s', s.trace_id
  FROM sagapost.saga_instances AS s CROSS JOIN generate_series(1, $1::int) AS n
  ORDER BY 5`

/**
 * Fills the three tables, set-based. Secondary indexes are dropped and made again from their own definitions, and
 * foreign keys are not checked row by row: half the time. They come back in the order of their names, as a restored
 * dump makes them: no plan may hang on which index is older.
 */
export async function loadSagas(pool: pg.Pool, load: Load): Promise<void> {
  const client = await pool.connect()
  try {
    await allowAnyBeginning(client)
    await client.query('BEGIN')
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(`SET LOCAL maintenance_work_mem = '256MB'; SET LOCAL jit = off`)
    const { rows: indexes } = await client.query<{ name: string; definition: string }>(
      `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
       FROM pg_index
       WHERE NOT indisprimary
         AND indrelid IN ('sagapost.saga_instances'::regclass, 'sagapost.saga_steps'::regclass,
                          'sagapost.saga_events'::regclass)
       ORDER BY 1`,
    )
    for (const { name } of indexes) await client.query(`DROP INDEX ${name}`)
    const { unfinishedShare = 0.01, completedShare = 0.9, retryableShare = null } = load
    await client.query(insertInstances, [
      load.instances,
      load.definitions,
      load.ids,
      load.stepsPerSaga,
      unfinishedShare,
      completedShare,
    ])
    await client.query(insertSteps, [load.stepsPerSaga, retryableShare])
    await client.query(insertEvents, [load.eventsPerSaga])
    for (const { definition } of indexes) await client.query(definition)
    await client.query('COMMIT')
    await client.query('ANALYZE sagapost.saga_instances, sagapost.saga_steps, sagapost.saga_events')
  } finally {
    client.release()
  }
}
