/** Each way to break the data of general sagas, and the invariant that must see it. $1 is a Compensated saga's id. */
export const sagaBreaks: { invariant: string; by: string; sql: string }[] = [
  {
    invariant: 'saga_history_without_gaps',
    by: 'an event that is gone',
    sql: 'DELETE FROM sagapost.saga_events WHERE saga_id = $1 AND sequence = 4',
  },
  {
    invariant: 'saga_history_without_gaps',
    by: 'a beginning that is gone',
    sql: 'DELETE FROM sagapost.saga_events WHERE saga_id = $1 AND sequence = 1',
  },
  {
    invariant: 'saga_history_without_gaps',
    by: 'an end that is gone',
    sql: `DELETE FROM sagapost.saga_events WHERE saga_id = $1
          AND sequence = (SELECT event_count FROM sagapost.saga_instances WHERE id = $1)`,
  },
  {
    invariant: 'saga_history_without_gaps',
    by: 'a number that is there twice',
    sql: `INSERT INTO sagapost.saga_events (saga_id, sequence, event_type, old_state, new_state)
          VALUES ($1, 3, 'state.changed', 1, 1)`,
  },
  {
    invariant: 'saga_history_without_gaps',
    by: 'a history that is gone',
    sql: 'DELETE FROM sagapost.saga_events WHERE saga_id = $1',
  },
  {
    invariant: 'saga_history_follows_itself',
    by: 'an event that leaves another state',
    sql: `UPDATE sagapost.saga_events SET old_state = 2 WHERE saga_id = $1 AND event_type = 'compensation.started'`,
  },
  {
    invariant: 'saga_history_follows_itself',
    by: 'a beginning in another state',
    sql: `UPDATE sagapost.saga_events SET old_state = 3 WHERE saga_id = $1 AND sequence = 1`,
  },
  {
    invariant: 'saga_is_where_its_history_ends',
    by: 'a saga that was moved by hand',
    sql: 'UPDATE sagapost.saga_instances SET state = 7 WHERE id = $1',
  },
  {
    invariant: 'saga_is_where_its_history_ends',
    by: 'a saga that was moved without a history',
    sql: `INSERT INTO sagapost.saga_instances (id, definition_id, state, current_step, total_steps, wake_at)
          SELECT 'moved', definition_id, 1, 0, 0, now() FROM sagapost.saga_instances WHERE id = $1`,
  },
  {
    invariant: 'saga_step_is_where_its_history_ends',
    by: 'a step that was moved by hand',
    sql: 'UPDATE sagapost.saga_steps SET state = 6 WHERE saga_id = $1 AND step_index = 0',
  },
  {
    invariant: 'saga_step_is_where_its_history_ends',
    by: 'an attempt that nobody made',
    sql: 'UPDATE sagapost.saga_steps SET attempts = 2 WHERE saga_id = $1 AND step_index = 0',
  },
  {
    invariant: 'saga_has_its_steps',
    by: 'a step that is gone',
    sql: 'DELETE FROM sagapost.saga_steps WHERE saga_id = $1 AND step_index = 1',
  },
  {
    invariant: 'saga_end_fits_its_steps',
    by: 'a step that still runs',
    sql: 'UPDATE sagapost.saga_steps SET state = 1 WHERE saga_id = $1 AND step_index = 1',
  },
  {
    invariant: 'open_saga_is_within_reach',
    by: 'a saga that waits for a time that never comes',
    sql: 'UPDATE sagapost.saga_instances SET state = 4, wake_at = NULL WHERE id = $1',
  },
  {
    invariant: 'published_saga_has_its_events',
    by: 'a history that was not published',
    sql: 'UPDATE sagapost.saga_instances SET publishes = true WHERE id = $1',
  },
  {
    invariant: 'awaited_event_is_looked_at',
    by: 'a step that waits for deliveries that nobody looks at',
    sql: `UPDATE sagapost.saga_steps SET state = 1, waits_for = 'delivery:' || saga_id || ':1'
          WHERE saga_id = $1 AND step_index = 1`,
  },
  {
    invariant: 'requeue_has_what_remains',
    by: 'letters that no batch has',
    sql: `WITH opened AS (UPDATE sagapost.saga_instances SET state = 1, wake_at = now() WHERE id = $1 RETURNING id)
          UPDATE sagapost.saga_steps SET progress = '{"remaining": 5}' FROM opened
          WHERE saga_id = opened.id AND step_index = 0`,
  },
  {
    invariant: 'ended_requeue_has_no_batches',
    by: 'a plan that nobody will carry out',
    sql: `WITH ended AS (
            UPDATE sagapost.saga_instances SET completed_at = now() - interval '1 hour' WHERE id = $1 RETURNING id)
          INSERT INTO sagapost.requeue_batches (saga_id, batch, letters, events) SELECT id, 0, '{1}', '{1}' FROM ended`,
  },
]
