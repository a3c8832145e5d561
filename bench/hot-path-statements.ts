/**
 * The database's share of one delivery, stage by stage, as the pipeline will ask for it: set-based, with a
 * lower and an upper bound on the event id so that only partitions with fresh work are met.
 */
const bounds = (table: string) => `${table}.event_id >= $1 AND ${table}.event_id < $2`

export const hotPath = {
  publish: `
    INSERT INTO sagapost.events (event_type, payload)
    SELECT 'order.placed', payload::json FROM unnest($1::text[]) AS payload`,

  route: `
    WITH taken AS MATERIALIZED (
      SELECT event_id FROM sagapost.event_routing_queue ORDER BY event_id LIMIT $1 FOR UPDATE SKIP LOCKED
    ), routed AS (
      DELETE FROM sagapost.event_routing_queue AS queue USING taken WHERE queue.event_id = taken.event_id
      RETURNING queue.event_id
    )
    INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id)
    SELECT event_id, 1 FROM routed
    ON CONFLICT (event_id, subscription_id) WHERE requeued_from IS NULL DO NOTHING`,

  makeFirstJobs: `
    WITH due AS MATERIALIZED (
      SELECT id, event_id, subscription_id FROM sagapost.webhook_delivery_sagas AS saga
      WHERE status = 'Pending' AND ${bounds('saga')} LIMIT $3 FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE sagapost.webhook_delivery_sagas AS saga SET status = 'InProgress', updated_at = sagapost.now()
      FROM due WHERE saga.id = due.id AND saga.event_id = due.event_id AND ${bounds('saga')}
    )
    INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id)
    SELECT id, event_id, subscription_id FROM due`,

  makeRetryJobs: `
    WITH due AS MATERIALIZED (
      SELECT id, event_id, subscription_id, attempt_count FROM sagapost.webhook_delivery_sagas AS saga
      WHERE status = 'PendingRetry' AND next_attempt_at <= sagapost.now() AND ${bounds('saga')}
      ORDER BY next_attempt_at LIMIT $3 FOR UPDATE SKIP LOCKED
    ), moved AS (
      UPDATE sagapost.webhook_delivery_sagas AS saga SET status = 'InProgress', updated_at = sagapost.now()
      FROM due WHERE saga.id = due.id AND saga.event_id = due.event_id AND ${bounds('saga')}
    )
    INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, attempt)
    SELECT id, event_id, subscription_id, attempt_count + 1 FROM due`,

  claim: `
    WITH free AS MATERIALIZED (
      SELECT id, event_id FROM sagapost.webhook_delivery_jobs AS job
      WHERE status = 'Pending' AND lease_until <= sagapost.now() AND ${bounds('job')}
      ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
    )
    UPDATE sagapost.webhook_delivery_jobs AS job
    SET status = 'Leased', lease_until = sagapost.now() + interval '1 minute', lease_token = gen_random_uuid(),
        worker_id = 'bench-1'
    FROM free WHERE job.id = free.id AND job.event_id = free.event_id AND ${bounds('job')}
    RETURNING job.id, job.event_id, job.lease_token`,

  readPayloads: `SELECT id, payload::text FROM sagapost.events WHERE id = ANY ($1::bigint[]) AND id >= $2 AND id < $3`,

  report: `
    UPDATE sagapost.webhook_delivery_jobs AS job
    SET status = 'Completed', response_status = 200, duration_ms = 12, finished_at = sagapost.now()
    FROM unnest($3::bigint[], $4::bigint[], $5::uuid[]) AS result (id, event_id, token)
    WHERE job.id = result.id AND job.event_id = result.event_id AND job.lease_token = result.token
      AND job.status = 'Leased' AND ${bounds('job')}`,

  resetLeases: `
    WITH stale AS MATERIALIZED (
      SELECT id, event_id FROM sagapost.webhook_delivery_jobs AS job
      WHERE status = 'Leased' AND lease_until < sagapost.now() AND ${bounds('job')}
      ORDER BY lease_until LIMIT $3 FOR UPDATE SKIP LOCKED
    )
    UPDATE sagapost.webhook_delivery_jobs AS job SET status = 'Pending', lease_resets = lease_resets + 1
    FROM stale WHERE job.id = stale.id AND job.event_id = stale.event_id AND ${bounds('job')}`,

  apply: `
    WITH result AS MATERIALIZED (
      SELECT id, saga_id, event_id FROM sagapost.webhook_delivery_jobs AS job
      WHERE status IN ('Completed', 'Failed') AND applied_at IS NULL AND ${bounds('job')}
      LIMIT $3 FOR UPDATE SKIP LOCKED
    ), marked AS (
      UPDATE sagapost.webhook_delivery_jobs AS job SET applied_at = sagapost.now()
      FROM result WHERE job.id = result.id AND job.event_id = result.event_id AND ${bounds('job')}
    )
    UPDATE sagapost.webhook_delivery_sagas AS saga
    SET status = 'Completed', attempt_count = attempt_count + 1, final_error_code = NULL, updated_at = sagapost.now()
    FROM result WHERE saga.id = result.saga_id AND saga.event_id = result.event_id AND saga.status = 'InProgress'
      AND ${bounds('saga')}`,
} as const
