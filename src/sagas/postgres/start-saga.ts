import type pg from 'pg'
import type { DataBox } from '../data-box.js'
import { type NewSaga, stepIdOf } from '../records.js'
import type { StartOutcome } from '../state-storage.js'
import { getSagaByKey } from './read-sagas.js'
import { type SagaRow, toSaga } from './rows.js'

/**
 * A saga and its steps in one statement, so that a caller's transaction has both or neither. uniq_saga_idempotency_key
 * answers whether the key is free; while another transaction holds it, this waits for its end.
 */
const insertSaga = `
  WITH saga AS (
    INSERT INTO sagapost.saga_instances AS made
      (id, definition_id, definition_version, idempotency_key, state, current_step, total_steps, initial_data,
       timeout_ms, deadline_at, retry_policy, metadata, trace_id, span_id, lease_owner, lease_until, wake_at, version)
    VALUES
      ($1, $2, $3, $4, 0, 0, cardinality($12::text[]), $5::jsonb,
       $6::bigint, sagapost.now() + $6::bigint * interval '1 ms', $7, $8, $9, $10, $14::text,
       sagapost.now() + $15::bigint * interval '1 ms', sagapost.now() + coalesce($15::bigint, 0) * interval '1 ms',
       CASE WHEN $14::text IS NULL THEN 0 ELSE 1 END)
    ON CONFLICT (definition_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING *, initial_data::text AS initial_text
  ), steps AS (
    INSERT INTO sagapost.saga_steps (id, saga_id, step_index, name, state, attempts, max_attempts)
    SELECT step.id, saga.id, step.place - 1, step.name, 0, 0, step.max_attempts
    FROM saga CROSS JOIN unnest($11::text[], $12::text[], $13::int[]) WITH ORDINALITY
      AS step (id, name, max_attempts, place)
    ORDER BY step.place
  )
  SELECT saga.*, initial_text AS initial_data, NULL::text AS result_data FROM saga`

export async function startSaga(
  client: Pick<pg.ClientBase, 'query'>,
  saga: NewSaga,
  box: DataBox,
): Promise<StartOutcome> {
  const { id, idempotencyKey: key } = saga
  const { rows } = (await client.query(insertSaga, [
    id,
    saga.definitionId,
    saga.definitionVersion,
    key,
    saga.input === undefined ? null : box.seal(saga.input, { sagaId: id, column: 'initial_data' }),
    saga.timeoutMs,
    saga.retryPolicy,
    saga.metadata,
    saga.traceId,
    saga.spanId,
    saga.steps.map((_, index) => stepIdOf(id, index)),
    saga.steps.map(({ name }) => name),
    saga.steps.map(({ maxAttempts }) => maxAttempts),
    saga.lease?.owner ?? null,
    saga.lease?.leaseMs ?? null,
  ])) as pg.QueryResult<SagaRow>
  const made = rows[0]
  if (made !== undefined) return { created: true, saga: toSaga(made, box) }
  const first = key === null ? undefined : await getSagaByKey(client, saga.definitionId, key, box)
  // Only under REPEATABLE READ: the first one committed after this transaction's snapshot was taken.
  if (first === undefined) throw new Error(`the saga with the key ${key} cannot be seen by this transaction`)
  return { created: false, saga: first }
}
