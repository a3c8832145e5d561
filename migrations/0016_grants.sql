-- What each role may do, and nothing else. test/schema/permissions.test.ts has the whole matrix.
-- Rights on a partitioned table suffice for its partitions; no role can reach a partition directly.

-- Functions are executable by PUBLIC when they are created; ours are not.
REVOKE ALL ON SCHEMA sagapost FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sagapost FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA sagapost FROM PUBLIC;
REVOKE USAGE ON TYPE sagapost.delivery_status, sagapost.job_status FROM PUBLIC;

-- Every role ----------------------------------------------------------------------------------------------------------

GRANT USAGE ON SCHEMA sagapost TO
  event_publisher, event_ingest_writer, router_worker, saga_orchestrator, job_worker, dead_letter_operator, subscription_admin,
  api_key_admin, schema_maintainer, saga_app_role, saga_readonly_role;
GRANT USAGE ON TYPE sagapost.delivery_status, sagapost.job_status TO
  router_worker, saga_orchestrator, job_worker, saga_readonly_role;
GRANT EXECUTE ON FUNCTION sagapost.now(), sagapost.partition_headroom() TO
  event_ingest_writer, router_worker, saga_orchestrator, job_worker, dead_letter_operator, subscription_admin,
  api_key_admin, schema_maintainer, saga_app_role, saga_readonly_role;
-- Every process checks at its start that it knows the schema.
GRANT SELECT ON sagapost.saga_schema_version TO
  event_ingest_writer, router_worker, saga_orchestrator, job_worker, dead_letter_operator, subscription_admin,
  api_key_admin, schema_maintainer, saga_app_role, saga_readonly_role;
-- A check of a table runs with the rights of the role that inserts. The planner evaluates the checks of partitions that
-- it cannot exclude by their bounds with the rights of the role that reads.
GRANT EXECUTE ON FUNCTION sagapost.payload_bytes_max() TO
  event_publisher, event_ingest_writer, router_worker, saga_orchestrator, job_worker, saga_readonly_role;
-- Everything of a subscription but its headers, which may hold credentials, and its open challenge.
GRANT SELECT (id, event_type, callback_url, active, verified, created_at, updated_at, max_attempts,
              deactivation_reason, deleted_at)
  ON sagapost.subscriptions TO event_ingest_writer, router_worker, saga_orchestrator, job_worker, saga_readonly_role;

-- event_publisher: applications publish and signal, and nothing else --------------------------------------------------

GRANT EXECUTE ON FUNCTION
  sagapost.publish(text, json, text, text, text),
  sagapost.publish(text, jsonb, text, text, text),
  sagapost.publish(text, text, text, text, text),
  sagapost.signal(text, text, json) TO event_publisher;

-- event_ingest_writer -------------------------------------------------------------------------------------------------

-- [E4] The id and the time of an event are the database's.
GRANT SELECT, INSERT (event_type, payload, correlation_id, traceparent) ON sagapost.events TO event_ingest_writer;
GRANT USAGE ON SEQUENCE sagapost.events_id_seq TO event_ingest_writer;
GRANT SELECT ON sagapost.event_keys TO event_ingest_writer;
GRANT EXECUTE ON FUNCTION
  sagapost.publish(text, json, text, text, text),
  sagapost.publish(text, jsonb, text, text, text),
  sagapost.publish(text, text, text, text, text),
  sagapost.publish_batch(text[], json[], text[], text[], text[]),
  sagapost.signal(text, text, json) TO event_ingest_writer;

-- router_worker -------------------------------------------------------------------------------------------------------

-- [R4] Identifying columns only: the status, count and times of a delivery are its defaults.
GRANT SELECT (id, event_type, created_at, correlation_id, traceparent) ON sagapost.events TO router_worker;
GRANT SELECT, INSERT (event_id, subscription_id, correlation_id) ON sagapost.webhook_delivery_sagas TO router_worker;
GRANT USAGE ON SEQUENCE sagapost.webhook_delivery_sagas_id_seq TO router_worker;
-- Locking rows of a queue (FOR UPDATE SKIP LOCKED) needs UPDATE of some column: enqueued_at here and below.
GRANT SELECT, UPDATE (id, enqueued_at, routed_events, last_subscription_id), DELETE ON sagapost.event_routing_queue
  TO router_worker;
GRANT INSERT (event_id, event_type, correlation_id, error_code, reason) ON sagapost.set_aside_events TO router_worker;
GRANT SELECT ON sagapost.subscription_version TO router_worker;
GRANT SELECT, INSERT, UPDATE (events) ON sagapost.event_minutes TO router_worker;

-- saga_orchestrator ---------------------------------------------------------------------------------------------------

-- [S8, S20] No payload, no lease columns, no write to events or subscriptions; the dead letter is written by the move
-- to DeadLettered itself.
GRANT SELECT (id, event_type, created_at, correlation_id, traceparent) ON sagapost.events TO saga_orchestrator;
GRANT SELECT,
  INSERT (event_id, subscription_id, correlation_id),
  UPDATE (status, attempt_count, next_attempt_at, final_error_code, updated_at)
  ON sagapost.webhook_delivery_sagas TO saga_orchestrator;
GRANT SELECT, INSERT (saga_id, event_id, subscription_id, attempt_at, attempt, correlation_id)
  ON sagapost.webhook_delivery_jobs TO saga_orchestrator;
GRANT USAGE ON SEQUENCE sagapost.webhook_delivery_sagas_id_seq, sagapost.webhook_delivery_jobs_id_seq
  TO saga_orchestrator;
GRANT SELECT, UPDATE (enqueued_at), DELETE ON sagapost.delivery_result_queue TO saga_orchestrator;
GRANT SELECT ON sagapost.subscription_switches TO saga_orchestrator;
GRANT SELECT, DELETE ON sagapost.delivery_cancellations TO saga_orchestrator;
GRANT SELECT, INSERT, UPDATE (succeeded, failed, dead_lettered, durations, last_error_code)
  ON sagapost.delivery_minutes TO saga_orchestrator;
GRANT EXECUTE ON FUNCTION sagapost.work_window(bigint[]) TO saga_orchestrator;

-- job_worker ----------------------------------------------------------------------------------------------------------

-- [J7] Lease and result columns of jobs; of the rest, only what it reads, and the state of breakers.
GRANT SELECT ON sagapost.events, sagapost.webhook_delivery_sagas, sagapost.subscription_secrets TO job_worker;
GRANT SELECT (headers) ON sagapost.subscriptions TO job_worker;
GRANT SELECT,
  UPDATE (status, lease_until, lease_token, worker_id, lease_resets, response_status, error_code, retry_after_s,
          duration_ms, response_excerpt, finished_at)
  ON sagapost.webhook_delivery_jobs TO job_worker;
GRANT SELECT, INSERT (subscription_id, failures, last_error_code, opened_at, paused_until, probe_at),
  UPDATE (failures, last_error_code, last_failed_at, opened_at, paused_until, probe_at), DELETE
  ON sagapost.subscription_breakers TO job_worker;
GRANT SELECT, DELETE ON sagapost.subscription_switches TO job_worker;
GRANT SELECT ON sagapost.delivery_cancellations TO job_worker;
GRANT EXECUTE ON FUNCTION sagapost.work_window(bigint[]), sagapost.held_until(bigint) TO job_worker;

-- dead_letter_operator ------------------------------------------------------------------------------------------------

-- [D5]
GRANT SELECT ON sagapost.dead_letters TO dead_letter_operator;
GRANT EXECUTE ON FUNCTION sagapost.requeue_dead_letter(bigint),
  sagapost.start_dead_letter_requeue(jsonb, integer, integer), sagapost.cancel_delivery(bigint),
  sagapost.requeue_set_aside_events(), sagapost.requeue_lost_events(bigint, integer) TO dead_letter_operator;

-- subscription_admin --------------------------------------------------------------------------------------------------

-- `verified` is set by confirm_verification alone [U4].
GRANT SELECT,
  INSERT (event_type, callback_url, max_attempts, headers),
  UPDATE (event_type, callback_url, active, max_attempts, headers, verification_challenge, deactivation_reason,
          deleted_at)
  ON sagapost.subscriptions TO subscription_admin;
GRANT SELECT, INSERT (subscription_id, scheme, ciphertext), UPDATE (ciphertext, expires_at)
  ON sagapost.subscription_secrets TO subscription_admin;
GRANT SELECT, INSERT (key, fingerprint), UPDATE (secret_id, previous_expires_at) ON sagapost.request_keys
  TO subscription_admin;
GRANT SELECT ON sagapost.subscription_breakers TO subscription_admin;
GRANT EXECUTE ON FUNCTION sagapost.confirm_verification(bigint, text), sagapost.open_routes(),
  sagapost.gone_subscriptions(timestamptz), sagapost.start_secret_rotation(jsonb) TO subscription_admin;

-- api_key_admin -------------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT (name, scope, key_hash), UPDATE (name, last_used_at, revoked_at)
  ON sagapost.api_keys TO api_key_admin;
GRANT SELECT, INSERT, DELETE ON sagapost.ended_sessions TO api_key_admin;

-- schema_maintainer ---------------------------------------------------------------------------------------------------

GRANT SELECT ON sagapost.partition_settings, sagapost.partitions TO schema_maintainer;
GRANT EXECUTE ON FUNCTION sagapost.ensure_partitions(), sagapost.expire_event_keys(timestamptz, integer),
  sagapost.open_routes() TO schema_maintainer;
GRANT SELECT, DELETE ON sagapost.delivery_minutes, sagapost.event_minutes TO schema_maintainer;
GRANT SELECT, INSERT (id, hostname, pid, version, parts, saga_definitions), UPDATE (seen_at), DELETE
  ON sagapost.processes TO schema_maintainer;
GRANT SELECT ON sagapost.saga_event_partitions, sagapost.saga_table_sizes, sagapost.saga_index_usage TO schema_maintainer;
GRANT EXECUTE ON FUNCTION
  sagapost.ensure_saga_event_partitions(interval, integer), sagapost.drop_saga_event_partitions(timestamptz),
  sagapost.saga_event_bounds(oid), sagapost.saga_slow_queries(integer) TO schema_maintainer;

-- saga_app_role [G12] -------------------------------------------------------------------------------------------------

GRANT SELECT, INSERT, UPDATE, DELETE ON sagapost.saga_instances, sagapost.saga_steps TO saga_app_role;
GRANT SELECT, INSERT ON sagapost.saga_events TO saga_app_role;
GRANT SELECT, INSERT, UPDATE, DELETE ON sagapost.saga_wakeups TO saga_app_role;
GRANT USAGE ON SEQUENCE sagapost.saga_events_id_seq, sagapost.saga_wakeups_id_seq TO saga_app_role;
-- UPDATE for FOR UPDATE: a row that is locked is passed over.
GRANT SELECT, UPDATE (expires_at), DELETE ON sagapost.saga_signals TO saga_app_role;
-- Coordinators only look whether a row is due; the functions change it.
GRANT SELECT ON sagapost.saga_awaited_events TO saga_app_role;
GRANT EXECUTE ON FUNCTION sagapost.clock(),
  sagapost.start_sagas(jsonb), sagapost.write_saga_changes(jsonb, bigint), sagapost.cleanup_expired_sagas(timestamptz),
  sagapost.look_ahead(text[], integer[]), sagapost.wake_sagas(integer), sagapost.signal(text, text, json),
  sagapost.publish_saga_history(jsonb, timestamptz), sagapost.publish_awaited_events(jsonb),
  sagapost.awaited_deliveries(text[], integer[]), sagapost.note_deliveries(integer) TO saga_app_role;
-- Of Sagapost's own sagas: to run what others have planned.
GRANT EXECUTE ON FUNCTION sagapost.requeue_batch(varchar, integer), sagapost.discard_requeue(varchar),
  sagapost.discard_ended_requeues(), sagapost.remove_ended_secrets() TO saga_app_role;
-- Called by the checks of these tables.
GRANT EXECUTE ON FUNCTION
  sagapost.is_json_integer(jsonb, bigint, bigint), sagapost.is_rfc3339(text), sagapost.is_saga_error(jsonb),
  sagapost.is_saga_retry_policy(jsonb), sagapost.is_saga_compensation_state(jsonb),
  sagapost.is_saga_event_type(text) TO saga_app_role;

-- saga_readonly_role: everything but headers, open challenges, secrets and hashes of keys -----------------------------

GRANT SELECT ON sagapost.events, sagapost.event_keys, sagapost.subscription_version,
  sagapost.event_routing_queue, sagapost.unrouted_events, sagapost.set_aside_events, sagapost.subscription_routes,
  sagapost.webhook_delivery_sagas, sagapost.webhook_delivery_jobs, sagapost.delivery_result_queue,
  sagapost.unapplied_results, sagapost.deliveries_in_progress, sagapost.dead_letters,
  sagapost.partition_settings, sagapost.partitions,
  sagapost.subscription_breakers, sagapost.subscription_switches, sagapost.delivery_cancellations,
  sagapost.saga_instances, sagapost.saga_steps, sagapost.saga_events, sagapost.active_sagas, sagapost.failed_sagas,
  sagapost.completed_sagas, sagapost.saga_statistics,
  sagapost.saga_signals, sagapost.saga_wakeups, sagapost.saga_awaited_events, sagapost.requeue_batches,
  sagapost.saga_event_partitions, sagapost.saga_table_sizes, sagapost.saga_index_usage,
  sagapost.delivery_minutes, sagapost.event_minutes, sagapost.processes TO saga_readonly_role;
GRANT SELECT (id, name, scope, created_at, last_used_at, revoked_at) ON sagapost.api_keys TO saga_readonly_role;
GRANT SELECT (id, subscription_id, scheme, created_at, expires_at) ON sagapost.subscription_secrets
  TO saga_readonly_role;
GRANT EXECUTE ON FUNCTION sagapost.lost_events(bigint, bigint), sagapost.held_until(bigint),
  sagapost.partition_groups(integer), sagapost.saga_event_bounds(oid), sagapost.saga_slow_queries(integer),
  sagapost.slow_statements(integer) TO saga_readonly_role;
