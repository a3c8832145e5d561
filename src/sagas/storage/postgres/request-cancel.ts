import type pg from 'pg'
import type { CancelOutcome, CancelRequest } from '../state-storage.js'

/**
 * Asks for the cancel and puts it on record, without touching the fence: whoever holds the saga goes on to hold it and
 * hears of it; when nobody does, it is due at once. Past its pivot it is too late; a child that has done its part is
 * cancelled by its parent only. By primary key.
 */
const markCancelled = `
  WITH asked AS (
    UPDATE sagapost.saga_instances SET
      cancel_requested_at = sagapost.clock(),
      updated_at = sagapost.clock(),
      cancel_requested_by = $2,
      cancel_reason = $3,
      wake_at = CASE WHEN lease_owner IS NULL THEN sagapost.now() ELSE wake_at END,
      event_count = event_count + 1
    WHERE id = $1 AND state IN (0, 1, 2) AND cancel_requested_at IS NULL AND pivoted_at IS NULL
      AND ($4 OR parent_id IS NULL OR current_step < total_steps)
    RETURNING id, state, event_count, trace_id, span_id, cancel_requested_at, publishes
  ), told AS (
    INSERT INTO sagapost.saga_events
      (saga_id, sequence, event_type, "timestamp", old_state, new_state, event_data, trace_id, span_id)
    SELECT id, event_count, 'state.changed', cancel_requested_at, state, state,
           jsonb_build_object('action', 'cancel', 'by', $2::text, 'why', $3::text), trace_id, span_id
    FROM asked
  ), published AS (
    SELECT count(sagapost.publish_saga_history(jsonb_build_array(jsonb_build_object(
      'saga_id', id, 'before', event_count - 1, 'events', jsonb_build_array(jsonb_build_object(
        'type', 'state.changed', 'old_state', state, 'new_state', state,
        'data', jsonb_build_object('action', 'cancel'))))), cancel_requested_at))
    FROM asked WHERE publishes
  )
  SELECT FROM asked CROSS JOIN published`

const selectCancel = `
  SELECT state IN (0, 1, 2) AND cancel_requested_at IS NOT NULL AND pivoted_at IS NULL AS requested
  FROM sagapost.saga_instances WHERE id = $1`

export async function requestCancel(
  pool: pg.Pool,
  sagaId: string,
  { by, reason, asParent = false }: CancelRequest,
): Promise<CancelOutcome> {
  const { rowCount } = await pool.query(markCancelled, [sagaId, by, reason, asParent])
  if (rowCount === 1) return 'requested'
  const { rows } = await pool.query<{ requested: boolean }>(selectCancel, [sagaId])
  if (rows[0] === undefined) return 'not_found'
  return rows[0].requested ? 'already_requested' : 'too_late'
}
