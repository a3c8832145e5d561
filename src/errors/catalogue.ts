/**
 * Every error code of Sagapost; a test compares `docs/reference/errors.md` with it. A released code is never renamed or
 * reused. `constraints` are the names of the triggers and constraints that PostgreSQL reports when a guard of the
 * schema refuses a statement.
 */
export const errorCatalogue = {
  // Start and configuration
  config_invalid: { title: 'A setting has a value that cannot be used' },
  master_key_wrong: { title: 'The secrets in the database were sealed with another SAGAPOST_MASTER_KEY' },
  stopping: { title: 'The process is stopping; send requests elsewhere' },
  instance_stopped: { title: 'The Sagapost instance was stopped; make another one' },

  // Embedded PostgreSQL
  data_dir_in_use: { title: 'Another process runs on this data directory' },
  data_dir_not_ours: { title: 'The data directory holds something that Sagapost did not make' },
  data_dir_newer: { title: 'The data directory was made by a newer release' },
  data_dir_older_postgres: { title: 'The data directory belongs to an older major version of PostgreSQL' },
  data_dir_unusable: { title: 'The data directory cannot be created, read or written' },
  embedded_postgres_missing: { title: 'There are no PostgreSQL binaries for this platform' },
  embedded_postgres_failed: { title: 'The embedded PostgreSQL did not start' },

  // The database
  database_url_invalid: { title: 'DATABASE_URL is not a PostgreSQL URL' },
  database_unreachable: { title: 'PostgreSQL cannot be reached' },
  database_timed_out: { title: 'PostgreSQL did not finish in time; a synchronous standby may be missing' },
  database_read_only: { title: 'PostgreSQL accepts no writes: it is a standby or read-only' },
  database_full: { title: "PostgreSQL's disk is full" },
  database_locks_exhausted: {
    title: "PostgreSQL's table of locks is full: raise max_locks_per_transaction",
  },
  database_login_refused: { title: 'PostgreSQL refused the login' },
  database_missing: { title: 'The database does not exist' },
  database_not_utf8: { title: 'The database is not in UTF8' },
  login_settings_missing: { title: 'A login behind a pooler lacks settings that Sagapost requires' },
  postgres_too_old: { title: 'The server is older than the oldest supported PostgreSQL' },
  permission_denied: { title: "The part's database role may not do this" },

  // Schema
  migration_edited: { title: 'A migration was edited after it had been applied' },
  migration_failed: { title: 'A migration failed and was rolled back' },
  migration_not_permitted: { title: 'The login lacks a right that migrating needs' },
  schema_newer: { title: "The database's schema is newer than this release" },
  schema_unreleased: { title: 'A development version made the schema: no release can upgrade it' },
  schema_outdated: { title: "The database's schema is older than this release: run sagapost migrate" },
  partition_headroom_low: { title: 'Few event ids are left in the partitions that are there' },
  partition_missing: { title: 'There is no partition for the row: nothing was stored' },

  value_too_long: { title: 'A value is longer than its column' },
  query_invalid: { title: 'A filter, the limit or the cursor of a list has a value that cannot be used' },

  // Events
  event_type_invalid: {
    title: 'An event type is 1 to 100 characters of A–Z, a–z, 0–9, _, . and -',
    constraints: ['events_event_type_format', 'subscriptions_event_type_format'],
  },
  event_type_reserved: {
    title: 'Event types that begin with saga. or sagapost. are reserved for Sagapost',
    constraints: ['event_type_is_reserved'],
  },
  idempotency_key_required: { title: 'This server requires an idempotency key for every event' },
  idempotency_key_invalid: {
    title: 'An idempotency key is 1 to 255 characters',
    constraints: ['event_keys_key_length', 'request_keys_key_length', 'request_keys_fingerprint_sha256'],
  },
  idempotency_conflict: {
    title: 'The idempotency key was used for something else',
    constraints: ['event_key_conflict'],
  },
  idempotency_key_busy: { title: 'Another transaction holds the idempotency key: try again later' },

  event_invalid: {
    title: 'A value of the event is out of its range',
    constraints: ['events_correlation_id_printable', 'events_traceparent_printable'],
  },
  payload_invalid: { title: 'The payload is not JSON, or nested too deeply' },
  payload_too_large: { title: 'The payload is too large', constraints: ['events_payload_size'] },
  event_not_found: { title: 'There is no such event' },

  // Subscriptions
  callback_url_not_https: {
    title: 'A callback URL begins with https://',
    constraints: ['subscriptions_callback_url_https'],
  },
  callback_url_invalid: { title: 'The callback URL cannot be used' },
  callback_url_blocked: { title: 'The callback URL leads to an address that is not public' },
  subscription_not_verified: {
    title: 'A subscription can be active only after its verification',
    constraints: ['subscriptions_active_needs_verified'],
  },
  subscription_deleted: {
    title: 'The subscription was deleted',
    constraints: [
      'subscription_deleted_is_frozen',
      'subscriptions_deleted_is_inactive',
      'requeue_needs_subscription',
    ],
  },
  subscription_invalid: {
    title: 'A value of the subscription is out of its range',
    constraints: [
      'subscriptions_max_attempts_range',
      'subscriptions_challenge_length',
      'subscriptions_headers_object',
      'subscription_breakers_failures_positive',
      'subscription_breakers_open_is_probed',
      'fk_subscription_breakers_subscription',
    ],
  },
  subscription_secret_invalid: {
    title: 'A subscription has one current secret, of a known scheme',
    constraints: [
      'subscription_secrets_scheme',
      'subscription_secrets_ciphertext_size',
      'subscription_secrets_current_is_kept',
      'uniq_secret_current',
      'fk_subscription_secrets_subscription',
      'fk_request_keys_secret',
    ],
  },
  subscription_secret_removed: {
    title: 'The secret that this idempotency key was answered with has ended, and was removed',
  },
  subscription_not_found: { title: 'There is no such subscription' },
  verification_failed: { title: "The callback's owner did not pass the verification" },

  // Deliveries, jobs and dead letters
  illegal_initial_state: {
    title: 'A delivery, a job, a saga and a step begin as Pending',
    constraints: [
      'saga_begins_pending',
      'job_begins_pending',
      'saga_instance_begins_pending',
      'saga_step_begins_pending',
    ],
  },
  illegal_move: {
    title: 'The state machine has no such move',
    constraints: [
      'saga_moves_legally',
      'job_moves_legally',
      'job_goes_back_unsent',
      'saga_instance_moves_legally',
      'saga_step_moves_legally',
    ],
  },
  row_is_final: {
    title: 'A finished delivery, job, saga or step never changes',
    constraints: [
      'saga_final_is_frozen',
      'job_final_is_frozen',
      'saga_instance_final_is_frozen',
      'saga_step_final_is_frozen',
    ],
  },
  identity_is_frozen: {
    title: 'What a delivery, a job, a saga or a step is for never changes',
    constraints: [
      'saga_identity_is_frozen',
      'job_identity_is_frozen',
      'saga_instance_identity_is_frozen',
      'saga_instance_publishes_is_frozen',
      'saga_step_identity_is_frozen',
    ],
  },
  append_only: {
    title: 'Rows of this table are never changed or deleted',
    constraints: [
      'event_is_append_only',
      'dead_letter_is_append_only',
      'saga_is_kept',
      'job_is_kept',
      'truncate_is_refused',
      'saga_events_append_only',
    ],
  },
  delivery_exists: {
    title: 'The event has a delivery for this subscription already',
    constraints: ['uniq_saga_event_subscription', 'uniq_saga_requeued_from'],
  },
  active_job_exists: {
    title: 'The delivery has an active job already',
    constraints: ['uniq_job_saga_active', 'uniq_job_saga_attempt'],
  },
  delivery_not_subscribed: {
    title: 'A delivery needs a stored event, and an active subscription of its type',
    constraints: ['delivery_fits_subscription'],
  },
  job_without_delivery: {
    title: 'A job needs a delivery that is InProgress, of the same event and subscription',
    constraints: ['job_fits_delivery'],
  },
  delivery_value_invalid: {
    title: 'A value of the delivery, the job or a queue is out of its range',
    constraints: [
      'sagas_attempt_count_not_negative',
      'jobs_attempt_positive',
      'jobs_lease_resets_not_negative',
      'jobs_response_status_range',
      'jobs_retry_after_not_negative',
      'jobs_duration_not_negative',
      'event_routing_queue_entries',
      'event_routing_queue_pieces',
      'delivery_result_queue_entries',
    ],
  },
  dead_letter_inconsistent: {
    title: 'A dead letter and its delivery must agree',
    constraints: ['saga_writes_dead_letter', 'dead_letter_has_dead_saga', 'uniq_dead_saga'],
  },
  delivery_not_found: { title: 'There is no such delivery', constraints: ['cancelled_delivery_exists'] },
  delivery_not_cancellable: {
    title: 'The delivery has already ended',
    constraints: ['cancelled_delivery_is_open'],
  },
  dead_letter_not_found: { title: 'There is no such dead letter', constraints: ['dead_letter_exists'] },
  subscription_inactive: {
    title: 'The subscription is not active',
    constraints: ['requeue_needs_active_subscription'],
  },
  requeue_filter_empty: { title: 'A requeue by filter says which dead letters, or that it means all' },
  requeue_too_large: {
    title: 'The filter finds more dead letters than one requeue takes',
    constraints: ['requeue_letters_max'],
  },

  // General sagas
  saga_value_invalid: {
    title: 'A value of the saga, step or saga event is out of its range or shape',
    constraints: [
      'saga_instances_state_range',
      'saga_instances_current_step_not_negative',
      'saga_instances_total_steps_not_negative',
      'saga_instances_timeout_positive',
      'saga_instances_error_shape',
      'saga_instances_retry_policy_shape',
      'saga_instances_awaiting_operator_state',
      'saga_instances_definition_version_positive',
      'saga_instances_idempotency_key_length',
      'saga_instances_lease_whole',
      'saga_instances_lease_is_unfinished',
      'saga_instances_version_not_negative',
      'saga_instances_cancel_whole',
      'saga_steps_state_range',
      'saga_steps_step_index_not_negative',
      'saga_steps_attempts_not_negative',
      'saga_steps_max_attempts_positive',
      'saga_steps_error_shape',
      'saga_steps_compensation_state_shape',
      'saga_events_event_type_known',
      'saga_events_step_index_not_negative',
      'saga_events_old_state_range',
      'saga_events_new_state_range',
      'saga_events_error_shape',
      'saga_events_sequence_positive',
    ],
  },
  saga_not_found: {
    title: 'There is no such saga',
    constraints: [
      'fk_saga_steps_saga',
      'fk_saga_events_saga',
      'fk_requeue_batches_saga',
      'fk_saga_awaited_events_saga',
    ],
  },
  saga_step_exists: {
    title: 'The saga has a step at this index already',
    constraints: ['idx_step_unique_saga_index'],
  },
  saga_key_exists: {
    title: 'The definition has a saga with this idempotency key already',
    constraints: ['uniq_saga_idempotency_key'],
  },
  saga_definition_invalid: { title: 'A saga is defined in a way that cannot be run' },
  saga_definition_unknown: { title: 'This process does not have the definition, or not in this version' },
  saga_input_invalid: { title: 'The input of the saga does not fit its schema, or cannot be kept as JSON' },
  saga_data_unreadable: { title: 'The data of the saga cannot be opened: another key, or damaged' },
  saga_not_cancellable: { title: 'The saga is being undone already, or has ended' },
  saga_not_awaiting_operator: { title: 'The saga does not wait for an operator' },
  saga_resolution_invalid: { title: 'A resolution says what to do, who decided it and why' },
  signal_invalid: {
    title: 'A signal has a name, a key and a payload of at most 64 KiB',
    constraints: ['saga_signals_name_format', 'saga_signals_key_length', 'saga_signals_payload_size'],
  },
  signal_conflict: { title: 'The signal has come before, with another payload' },

  // Keys of the HTTP API
  api_key_invalid: {
    title: 'An API key has a known scope and a hash of its own',
    constraints: ['api_keys_scope', 'api_keys_hash_sha256', 'uniq_api_key_hash'],
  },
  api_key_not_found: { title: 'There is no such API key' },
  api_key_revoked: {
    title: 'A revoked API key stays revoked',
    constraints: ['api_key_stays_revoked', 'api_key_revoked_is_kept', 'api_keys_truncate_is_refused'],
  },

  // The HTTP API
  request_malformed: { title: 'The request is not HTTP with a JSON body' },
  request_invalid: { title: 'A field of the request is missing, unknown or of the wrong type' },
  request_too_large: { title: 'The body of the request is too large' },
  content_type_unsupported: { title: 'The body must be application/json, without a content encoding' },
  unauthenticated: { title: 'The request carries no API key, or one that is not known' },
  forbidden: { title: 'The scope of the API key does not allow this' },
  not_found: { title: 'There is nothing at this path for this method' },
  too_many_bad_keys: { title: 'Too many requests with a bad API key came from this address' },
  too_much_at_once: { title: 'Too many bytes are in progress with this API key: try again later' },
  overloaded: { title: 'Too many events wait to be stored: try again later' },
  internal_error: { title: 'Sagapost failed: a bug, recorded in its log' },

  // The client and the command line
  server_unreachable: { title: 'The Sagapost server cannot be reached' },
  server_timed_out: { title: 'The Sagapost server did not answer in time' },
  server_answer_unexpected: { title: 'Something answered that is not a Sagapost server' },
} as const satisfies Record<string, { title: string; constraints?: readonly string[] }>

export type ErrorCode = keyof typeof errorCatalogue
