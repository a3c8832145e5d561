import type pg from 'pg'
import type { DataBox } from '../data-box.js'
import type { SagaChange } from '../records.js'
import { sagaStateNumber, stepStateNumber } from '../saga-run.js'
import type { WriteOutcome } from '../state-storage.js'

/**
 * Many sagas' changes in one statement and so in one commit. A saga whose fence is not the last one drops out of `moved`,
 * and its steps and events with it. Found by primary key and idx_step_saga_index; the order of the events is the order
 * of their ids and of `sequence`, which counts on under the lock of the saga's row.
 *
 * A saga that is let go wakes at its deadline at the latest, and at once when somebody asked to cancel it meanwhile.
 */
export const writeChanges = `
  WITH change AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS change (
      saga_id text, owner text, version bigint, state int, current_step int, error jsonb, awaiting_operator boolean,
      result text, started boolean, finished boolean, timed_out boolean, released boolean, wake_in_ms bigint,
      events_written int, steps jsonb, events jsonb)
  ), moved AS (
    UPDATE sagapost.saga_instances AS saga SET
      state = change.state,
      current_step = change.current_step,
      error = change.error,
      awaiting_operator = change.awaiting_operator,
      result_data = coalesce(change.result::jsonb, saga.result_data),
      started_at = CASE WHEN change.started THEN coalesce(saga.started_at, sagapost.now()) ELSE saga.started_at END,
      completed_at = CASE WHEN change.finished THEN sagapost.now()
                          WHEN change.state IN (0, 1, 2, 4) THEN NULL ELSE saga.completed_at END,
      timed_out_at = CASE WHEN change.timed_out THEN sagapost.now() ELSE saga.timed_out_at END,
      lease_owner = CASE WHEN change.released THEN NULL ELSE saga.lease_owner END,
      lease_until = CASE WHEN change.released THEN NULL ELSE sagapost.now() + $2::bigint * interval '1 ms' END,
      wake_at = CASE
        WHEN NOT change.released THEN sagapost.now() + $2::bigint * interval '1 ms'
        WHEN change.wake_in_ms IS NULL THEN NULL
        WHEN change.state = 4 THEN sagapost.now() + change.wake_in_ms * interval '1 ms'
        WHEN saga.cancel_requested_at IS NOT NULL THEN sagapost.now()
        ELSE least(sagapost.now() + change.wake_in_ms * interval '1 ms', saga.deadline_at) END,
      version = saga.version + 1,
      event_count = saga.event_count + change.events_written
    FROM change
    WHERE saga.id = change.saga_id AND saga.version = change.version
      AND saga.lease_owner IS NOT DISTINCT FROM change.owner
    RETURNING saga.id, saga.trace_id, saga.span_id, saga.event_count - change.events_written AS events_before,
              change.steps, change.events, saga.cancel_requested_at IS NOT NULL AS cancel_requested,
              coalesce(saga.deadline_at <= sagapost.now(), false) AS overdue
  ), stepped AS (
    UPDATE sagapost.saga_steps AS step SET
      state = to_be.state,
      attempts = to_be.attempts,
      max_attempts = to_be.max_attempts,
      error = to_be.error,
      compensation_state = to_be.compensation,
      output_data = coalesce(to_be.output::jsonb, step.output_data),
      started_at = CASE WHEN to_be.started THEN coalesce(step.started_at, sagapost.now()) ELSE step.started_at END,
      last_attempt_at = CASE WHEN to_be.started THEN sagapost.now() ELSE step.last_attempt_at END,
      completed_at = CASE WHEN to_be.finished THEN sagapost.now() ELSE step.completed_at END
    FROM moved CROSS JOIN LATERAL jsonb_to_recordset(moved.steps) AS to_be (
      index int, state int, attempts int, max_attempts int, error jsonb, compensation jsonb, output text,
      started boolean, finished boolean)
    WHERE step.saga_id = moved.id AND step.step_index = to_be.index
  ), told AS (
    INSERT INTO sagapost.saga_events
      (saga_id, sequence, event_type, step_id, step_index, old_state, new_state, event_data, error, trace_id, span_id)
    SELECT moved.id, moved.events_before + event.place, event.type, moved.id || ':' || event.step_index,
           event.step_index, event.old_state, event.new_state, event.data, event.error, moved.trace_id,
           coalesce(event.span_id, moved.span_id)
    FROM moved CROSS JOIN LATERAL ROWS FROM (jsonb_to_recordset(moved.events) AS (
      type text, step_index int, old_state int, new_state int, data jsonb, error jsonb, span_id text)
    ) WITH ORDINALITY AS event (type, step_index, old_state, new_state, data, error, span_id, place)
    ORDER BY moved.id, event.place
  )
  SELECT id, cancel_requested, overdue FROM moved`

interface MovedRow {
  id: string
  cancel_requested: boolean
  overdue: boolean
}

export async function applyChanges(
  client: Pick<pg.ClientBase, 'query'> | pg.Pool,
  changes: readonly SagaChange[],
  leaseMs: number,
  box: DataBox,
): Promise<WriteOutcome[]> {
  const parameters = [JSON.stringify(changes.map((change) => toParameter(change, box))), leaseMs]
  const { rows } = (await client.query(writeChanges, parameters)) as pg.QueryResult<MovedRow>
  const moved = new Map(rows.map((row) => [row.id, row]))
  return changes.map(({ sagaId }) => {
    const row = moved.get(sagaId)
    if (row === undefined) return { applied: false }
    return { applied: true, cancelRequested: row.cancel_requested, overdue: row.overdue }
  })
}

function toParameter(change: SagaChange, box: DataBox): Record<string, unknown> {
  const { sagaId, release } = change
  return {
    saga_id: sagaId,
    owner: change.owner,
    version: change.version,
    state: sagaStateNumber(change.state),
    current_step: change.currentStep,
    error: change.error,
    awaiting_operator: change.awaitingOperator,
    result: change.result && box.seal(change.result, { sagaId, column: 'result_data' }),
    started: change.started ?? false,
    finished: change.finished ?? false,
    timed_out: change.timedOut ?? false,
    released: release !== undefined,
    wake_in_ms: release?.wakeInMs ?? null,
    events_written: change.events.length,
    steps: change.steps.map((step) => ({
      index: step.index,
      state: stepStateNumber(step.state),
      attempts: step.attempts,
      max_attempts: step.maxAttempts,
      error: step.error,
      compensation: step.compensation,
      output: step.output && box.seal(step.output, { sagaId, column: 'output_data', stepIndex: step.index }),
      started: step.started ?? false,
      finished: step.finished ?? false,
    })),
    events: change.events.map((event) => ({
      type: event.type,
      step_index: event.stepIndex,
      old_state: event.oldState,
      new_state: event.newState,
      data: event.data,
      error: event.error,
      span_id: event.spanId,
    })),
  }
}
