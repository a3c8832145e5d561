-- [S2, S21] One unique index for routed and requeued deliveries: `event_id = … AND subscription_id = …` is served as it is
-- written down, and by event alone. It had the routed ones only, so that a query without its predicate read whole
-- partitions. idx_saga_event stays as it is, over requeued deliveries: docs/internals/decisions.md says why.
--
-- The old index holds until the new one is built, so that no two deliveries slip through. Meanwhile deliveries are read, and
-- not written: a second or two for each million of them, so plan for it on a large database.
CREATE UNIQUE INDEX saga_event_subscription ON sagapost.webhook_delivery_sagas
  (event_id, subscription_id, requeued_from) NULLS NOT DISTINCT;
DROP INDEX sagapost.uniq_saga_event_subscription;
ALTER INDEX sagapost.saga_event_subscription RENAME TO uniq_saga_event_subscription;
SELECT sagapost.name_partition_indexes();

-- Two requeues of one dead letter now meet in two unique indexes. A conflict counts as such in those that ON CONFLICT
-- names, and is an error in any other: so it names none. A conflict that is no requeue of the letter (the sequence was set
-- back, so that the id is taken) is an error still. All else in these functions is as in 0032 and 0023.
DO $$
DECLARE
  requeue regprocedure;
  definition text;
  named CONSTANT text := 'ON CONFLICT (requeued_from, event_id) WHERE requeued_from IS NOT NULL DO NOTHING';
  unnamed CONSTANT text := 'ON CONFLICT DO NOTHING';
  found CONSTANT text := '    SELECT id INTO STRICT delivery_id FROM sagapost.webhook_delivery_sagas
    WHERE requeued_from = letter.id AND event_id = letter.event_id;
';
  found_or_taken CONSTANT text := replace(found, ' STRICT', '') || $raise$    IF NOT FOUND THEN
      RAISE EXCEPTION USING ERRCODE = 'unique_violation',
        MESSAGE = format('dead letter %s cannot be requeued: the id of its new delivery is taken', letter.id),
        CONSTRAINT = 'webhook_delivery_sagas_pkey', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
    END IF;
$raise$;
  counted CONSTANT text := '
  total := total || jsonb_build_object(';
  taken_or_counted CONSTANT text := $raise$
  -- Letters of active subscriptions that neither this batch nor another request has requeued.
  SELECT given.id INTO todo
  FROM unnest(todo.letters, todo.events) AS given (id, event_id)
  JOIN sagapost.dead_letters AS letter ON letter.id = given.id AND letter.event_id = given.event_id
  WHERE letter.subscription_id = ANY (active) AND NOT EXISTS (
    SELECT FROM sagapost.webhook_delivery_sagas AS saga
    WHERE saga.requeued_from = given.id AND saga.event_id = given.event_id)
  LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation',
      MESSAGE = format('dead letter %s cannot be requeued: the id of its new delivery is taken', todo.id),
      CONSTRAINT = 'webhook_delivery_sagas_pkey', SCHEMA = 'sagapost', TABLE = 'webhook_delivery_sagas';
  END IF;
$raise$ || counted;
BEGIN
  FOREACH requeue IN ARRAY ARRAY[
    'sagapost.requeue_dead_letter(bigint)', 'sagapost.requeue_batch(varchar, integer)']::regprocedure[]
  LOOP
    definition := pg_get_functiondef(requeue);
    IF position(named IN definition) = 0 THEN
      RAISE EXCEPTION '% is not what this migration expects', requeue;
    END IF;
    definition := replace(definition, named, unnamed);
    IF position(found IN definition) + position(counted IN definition) = 0 THEN
      RAISE EXCEPTION '% is not what this migration expects', requeue;
    END IF;
    EXECUTE replace(replace(definition, found, found_or_taken), counted, taken_or_counted);
  END LOOP;
END
$$;

-- [S21] InProgress has no index of its own, which the statement that applies results would be led to, and which made a
-- delivery a fifth dearer. It has an active job, or a result that waits to be applied, and both are found by indexes:
-- this costs what is in progress, however many deliveries there are.
CREATE VIEW sagapost.deliveries_in_progress WITH (security_invoker = true) AS
SELECT saga.*
FROM (
  SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs WHERE status IN ('Pending', 'Leased')
  UNION
  SELECT reported.saga_id, reported.event_id
  FROM sagapost.delivery_result_queue AS queued
  CROSS JOIN LATERAL unnest(queued.job_ids, queued.event_ids) AS finished (job_id, event_id)
  CROSS JOIN LATERAL (
    SELECT saga_id, event_id FROM sagapost.webhook_delivery_jobs
    WHERE id = finished.job_id AND event_id = finished.event_id LIMIT 1
  ) AS reported
) AS job
CROSS JOIN LATERAL (
  -- LIMIT makes it one look for each job, and never a join of all deliveries; BETWEEN makes it one by the primary key,
  -- and not through all deliveries of the event.
  SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
         created_at, updated_at
  FROM sagapost.webhook_delivery_sagas
  WHERE id = job.saga_id AND event_id BETWEEN job.event_id AND job.event_id AND status = 'InProgress' LIMIT 1
) AS saga;
GRANT SELECT ON sagapost.deliveries_in_progress TO saga_readonly_role;
