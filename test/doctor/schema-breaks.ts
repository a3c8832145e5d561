import type { DifferenceCode } from '../../src/doctor/schema/difference.js'

export interface SchemaBreak {
  by: string
  sql: string
  code: DifferenceCode
  object: string | RegExp
  /** Absent: the doctor's own statements mend it. */
  mendedBy?: string
}

const jobs = 'sagapost.webhook_delivery_jobs'

/** What hands, restores and upgrades that went wrong do to a schema. */
export const schemaBreaks: readonly SchemaBreak[] = [
  {
    by: 'the trigger that queues events is disabled',
    sql: 'ALTER TABLE sagapost.events DISABLE TRIGGER event_enqueue_routing',
    code: 'trigger_disabled',
    object: 'trigger event_enqueue_routing on sagapost.events',
  },
  {
    by: 'a guard of every row is dropped',
    sql: 'DROP TRIGGER dead_letter_is_append_only ON sagapost.dead_letters',
    code: 'trigger_missing',
    object: 'trigger dead_letter_is_append_only on sagapost.dead_letters',
  },
  {
    by: 'a guard says something else',
    sql: `DROP TRIGGER truncate_is_refused ON sagapost.events;
      CREATE TRIGGER truncate_is_refused BEFORE TRUNCATE ON sagapost.events FOR EACH STATEMENT EXECUTE FUNCTION sagapost.refuse('SP001', '');
      ALTER TABLE sagapost.events ENABLE ALWAYS TRIGGER truncate_is_refused`,
    code: 'object_altered',
    object: 'trigger truncate_is_refused on sagapost.events',
  },
  {
    by: 'a guard no longer fires in replication',
    sql: 'ALTER TABLE sagapost.events ENABLE TRIGGER event_is_append_only',
    code: 'object_altered',
    object: 'trigger event_is_append_only on sagapost.events',
  },
  {
    by: 'a guard of one partition is disabled',
    sql: `ALTER TABLE ${jobs}_from_0 DISABLE TRIGGER job_enqueue_results`,
    code: 'trigger_disabled',
    object: `trigger job_enqueue_results on ${jobs}_from_0`,
  },
  {
    by: 'a cloned guard of one partition is disabled',
    sql: 'ALTER TABLE sagapost.dead_letters_from_0 DISABLE TRIGGER dead_letter_is_append_only',
    code: 'trigger_disabled',
    object: 'trigger dead_letter_is_append_only on sagapost.dead_letters_from_0',
  },
  {
    by: 'a partition has no guard against TRUNCATE',
    sql: 'DROP TRIGGER truncate_is_refused ON sagapost.events_from_0',
    code: 'partition_unguarded',
    object: 'trigger truncate_is_refused on sagapost.events_from_0',
  },
  {
    by: 'the index of claims is dropped',
    sql: 'DROP INDEX sagapost.idx_job_status_lease',
    code: 'index_missing',
    object: 'index sagapost.idx_job_status_lease on sagapost.webhook_delivery_jobs',
  },
  {
    by: 'a partition lacks an index of its table',
    sql: `DROP INDEX sagapost.idx_dead_type;
      CREATE INDEX idx_dead_type ON ONLY sagapost.dead_letters USING btree (event_type, failed_at, id)`,
    code: 'index_missing',
    object: 'partition of index idx_dead_type on sagapost.dead_letters_from_0',
  },
  {
    by: 'an index has other columns',
    sql: `DROP INDEX sagapost.idx_delivery_minutes_minute;
      CREATE INDEX idx_delivery_minutes_minute ON sagapost.delivery_minutes (minute, failed)`,
    code: 'object_altered',
    object: 'index sagapost.idx_delivery_minutes_minute on sagapost.delivery_minutes',
  },
  {
    by: 'an index was half built',
    sql: `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sagapost.idx_delivery_minutes_minute'::regclass`,
    code: 'index_invalid',
    object: 'index sagapost.idx_delivery_minutes_minute on sagapost.delivery_minutes',
  },
  {
    by: 'an operator added an index',
    sql: 'CREATE INDEX of_the_operator ON sagapost.api_keys (last_used_at)',
    code: 'index_extra',
    object: 'index sagapost.of_the_operator on sagapost.api_keys',
    mendedBy: 'DROP INDEX sagapost.of_the_operator',
  },
  {
    by: 'a grant on a table was revoked',
    sql: 'REVOKE SELECT ON sagapost.dead_letters FROM dead_letter_operator',
    code: 'grant_missing',
    object: 'grant SELECT ON TABLE sagapost.dead_letters TO dead_letter_operator',
  },
  {
    by: 'a grant on columns was revoked',
    sql: 'REVOKE UPDATE (status) ON sagapost.webhook_delivery_sagas FROM saga_orchestrator',
    code: 'grant_missing',
    object: /^grant UPDATE \(.*\) ON TABLE sagapost.webhook_delivery_sagas TO saga_orchestrator$/,
  },
  {
    by: 'a grant on a function was revoked',
    sql: 'REVOKE EXECUTE ON FUNCTION sagapost.ensure_partitions() FROM schema_maintainer',
    code: 'grant_missing',
    object: 'grant EXECUTE ON FUNCTION sagapost.ensure_partitions() TO schema_maintainer',
  },
  {
    by: 'the schema is closed to a part',
    sql: 'REVOKE USAGE ON SCHEMA sagapost FROM router_worker',
    code: 'grant_missing',
    object: 'grant USAGE ON SCHEMA sagapost TO router_worker',
  },
  {
    by: 'the owner lost a right',
    sql: 'REVOKE INSERT ON sagapost.event_routing_queue FROM CURRENT_USER',
    code: 'grant_missing',
    object: /^grant INSERT ON TABLE sagapost.event_routing_queue TO \w+$/,
  },
  {
    by: 'a part may delete events',
    sql: 'GRANT DELETE ON sagapost.events TO job_worker',
    code: 'grant_extra',
    object: 'grant DELETE ON TABLE sagapost.events TO job_worker',
  },
  {
    by: 'a part may read another column',
    sql: 'GRANT SELECT (payload) ON sagapost.events TO router_worker',
    code: 'grant_extra',
    object: /^grant SELECT \(.*payload.*\) ON TABLE sagapost.events TO router_worker$/,
  },
  {
    by: 'all may call a function',
    sql: 'GRANT EXECUTE ON FUNCTION sagapost.make_partition(text, bigint, bigint) TO PUBLIC',
    code: 'grant_extra',
    object: /^grant EXECUTE ON FUNCTION sagapost.make_partition\(.*\) TO PUBLIC$/,
  },
  {
    by: 'a part may reach a partition',
    sql: `GRANT UPDATE ON ${jobs}_from_0 TO job_worker`,
    code: 'grant_extra',
    object: `grant UPDATE ON TABLE ${jobs}_from_0 TO job_worker`,
  },
  {
    by: 'a column is gone',
    sql: 'ALTER TABLE sagapost.processes DROP COLUMN version',
    code: 'object_missing',
    object: 'column version on sagapost.processes',
    mendedBy: `ALTER TABLE sagapost.processes ADD COLUMN version varchar(50) NOT NULL DEFAULT '';
      ALTER TABLE sagapost.processes ALTER COLUMN version DROP DEFAULT`,
  },
  {
    by: 'a column that may be empty is gone',
    sql: 'ALTER TABLE sagapost.api_keys DROP COLUMN last_used_at',
    code: 'object_missing',
    object: 'column last_used_at on sagapost.api_keys',
  },
  {
    by: 'a column has another type',
    sql: 'ALTER TABLE sagapost.event_minutes ALTER COLUMN events TYPE bigint',
    code: 'object_altered',
    object: 'column events on sagapost.event_minutes',
    mendedBy: 'ALTER TABLE sagapost.event_minutes ALTER COLUMN events TYPE integer',
  },
  {
    by: 'a column was added',
    sql: 'ALTER TABLE sagapost.events ADD COLUMN tenant text',
    code: 'object_extra',
    object: 'column tenant on sagapost.events',
    mendedBy: 'ALTER TABLE sagapost.events DROP COLUMN tenant',
  },
  {
    by: 'a column may be empty',
    sql: 'ALTER TABLE sagapost.events ALTER COLUMN event_type DROP NOT NULL',
    code: 'object_missing',
    object: 'NOT NULL of event_type on sagapost.events',
  },
  {
    by: 'a default is gone',
    sql: 'ALTER TABLE sagapost.events ALTER COLUMN created_at DROP DEFAULT',
    code: 'object_missing',
    object: 'default of created_at on sagapost.events',
  },
  {
    by: 'a partition has no default of its own',
    sql: 'ALTER TABLE sagapost.events_from_0 ALTER COLUMN created_at DROP DEFAULT',
    code: 'partition_altered',
    object: 'table sagapost.events_from_0',
  },
  {
    by: 'a check is gone',
    sql: 'ALTER TABLE sagapost.subscriptions DROP CONSTRAINT subscriptions_callback_url_https',
    code: 'object_missing',
    object: 'constraint subscriptions_callback_url_https on sagapost.subscriptions',
  },
  {
    by: 'a check says something else',
    sql: `ALTER TABLE sagapost.ended_sessions DROP CONSTRAINT ended_sessions_id,
      ADD CONSTRAINT ended_sessions_id CHECK (octet_length(session_id) > 0)`,
    code: 'object_altered',
    object: 'constraint ended_sessions_id on sagapost.ended_sessions',
  },
  {
    by: 'a unique key is gone',
    sql: 'ALTER TABLE sagapost.api_keys DROP CONSTRAINT uniq_api_key_hash',
    code: 'object_missing',
    object: 'constraint uniq_api_key_hash on sagapost.api_keys',
  },
  {
    by: 'a foreign key is gone',
    sql: 'ALTER TABLE sagapost.saga_events DROP CONSTRAINT fk_saga_events_saga',
    code: 'object_missing',
    object: 'constraint fk_saga_events_saga on sagapost.saga_events',
  },
  {
    by: 'a foreign key is not enforced',
    sql: 'ALTER TABLE sagapost.saga_steps DISABLE TRIGGER ALL; ALTER TABLE sagapost.saga_steps ENABLE TRIGGER USER',
    code: 'object_altered',
    object: /^constraint fk_saga_steps\w* on sagapost.saga_steps$/,
    mendedBy: `ALTER TABLE sagapost.saga_steps ENABLE TRIGGER ALL`,
  },
  {
    by: 'a function says something else',
    sql: `CREATE OR REPLACE FUNCTION sagapost.ensure_partitions() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'`,
    code: 'object_altered',
    object: 'function sagapost.ensure_partitions()',
  },
  {
    by: 'a function is gone',
    sql: 'DROP FUNCTION sagapost.requeue_set_aside_events()',
    code: 'object_missing',
    object: /^function sagapost.requeue_set_aside_events\(.*\)$/,
  },
  {
    by: 'a view says something else',
    sql: `CREATE OR REPLACE VIEW sagapost.failed_sagas AS
      SELECT id, definition_id, name, state, current_step, total_steps, created_at, updated_at, completed_at, error, trace_id
      FROM sagapost.saga_instances WHERE state = 8`,
    code: 'object_altered',
    object: 'view sagapost.failed_sagas',
  },
  {
    by: 'a view reads with the rights of its owner',
    sql: 'ALTER VIEW sagapost.active_sagas RESET (security_invoker)',
    code: 'object_missing',
    object: 'option security_invoker on sagapost.active_sagas',
  },
  {
    by: 'a table is vacuumed by other thresholds',
    sql: 'ALTER TABLE sagapost.event_minutes SET (fillfactor = 90)',
    code: 'object_altered',
    object: 'option fillfactor on sagapost.event_minutes',
  },
  {
    by: 'a view is gone',
    sql: 'DROP VIEW sagapost.active_sagas',
    code: 'object_missing',
    object: 'view sagapost.active_sagas',
  },
  {
    by: 'a table is gone',
    sql: 'DROP TABLE sagapost.ended_sessions',
    code: 'object_missing',
    object: 'table sagapost.ended_sessions',
    mendedBy: `CREATE TABLE sagapost.ended_sessions (
        session_id bytea NOT NULL, expires_at timestamptz NOT NULL,
        CONSTRAINT ended_sessions_pkey PRIMARY KEY (session_id),
        CONSTRAINT ended_sessions_id CHECK (octet_length(session_id) = 16));
      GRANT SELECT, INSERT, DELETE ON sagapost.ended_sessions TO api_key_admin`,
  },
  {
    by: 'a table was added',
    sql: 'CREATE TABLE sagapost.of_the_operator (id int PRIMARY KEY); GRANT SELECT ON sagapost.of_the_operator TO PUBLIC',
    code: 'object_extra',
    object: 'table sagapost.of_the_operator',
    mendedBy: 'DROP TABLE sagapost.of_the_operator',
  },
  {
    by: 'a retention that is not at its end has detached a partition',
    sql: 'ALTER TABLE sagapost.events DETACH PARTITION sagapost.events_from_1000000',
    code: 'object_extra',
    object: 'table sagapost.events_from_1000000',
    mendedBy: `ALTER TABLE sagapost.events ATTACH PARTITION sagapost.events_from_1000000 FOR VALUES FROM (1000000) TO (2000000)`,
  },
  {
    by: 'a table is lost in a crash',
    sql: 'ALTER TABLE sagapost.event_routing_queue SET UNLOGGED',
    code: 'object_altered',
    object: 'table sagapost.event_routing_queue',
    mendedBy: 'ALTER TABLE sagapost.event_routing_queue SET LOGGED',
  },
  {
    by: 'rows are hidden from the parts',
    sql: 'ALTER TABLE sagapost.subscriptions ENABLE ROW LEVEL SECURITY',
    code: 'object_altered',
    object: 'table sagapost.subscriptions',
  },
  {
    by: 'a rule throws writes away',
    sql: 'CREATE RULE nothing AS ON INSERT TO sagapost.set_aside_events DO INSTEAD NOTHING',
    code: 'object_extra',
    object: 'rule nothing on sagapost.set_aside_events',
  },
  {
    by: 'a sequence goes backwards',
    sql: 'ALTER SEQUENCE sagapost.events_id_seq INCREMENT BY 2 CYCLE',
    code: 'object_altered',
    object: 'sequence sagapost.events_id_seq',
  },
  {
    by: 'a function that runs with the rights of its owner belongs to another role',
    sql: 'ALTER FUNCTION sagapost.check_made_jobs() OWNER TO router_worker',
    code: 'object_altered',
    object: 'function sagapost.check_made_jobs()',
  },
  {
    by: 'a table belongs to a role with a grant on it',
    sql: 'ALTER TABLE sagapost.dead_letters OWNER TO dead_letter_operator',
    code: 'object_altered',
    object: 'table sagapost.dead_letters',
  },
  {
    by: 'a partition belongs to another role',
    sql: 'ALTER TABLE sagapost.events_from_0 OWNER TO router_worker',
    code: 'object_altered',
    object: 'table sagapost.events_from_0',
  },
  {
    by: 'a view belongs to another role',
    sql: 'ALTER VIEW sagapost.active_sagas OWNER TO saga_app_role',
    code: 'object_altered',
    object: 'view sagapost.active_sagas',
  },
  {
    by: 'a sequence belongs to another role',
    sql: `ALTER SEQUENCE sagapost.events_id_seq OWNED BY NONE;
      ALTER SEQUENCE sagapost.events_id_seq OWNER TO router_worker`,
    code: 'object_altered',
    object: 'sequence sagapost.events_id_seq',
  },
]

/** Roles belong to the cluster: these are made in a transaction that is rolled back. */
export const roleBreaks: readonly SchemaBreak[] = [
  {
    by: 'a part was made a superuser',
    sql: 'ALTER ROLE router_worker SUPERUSER CREATEDB',
    code: 'object_altered',
    object: 'role router_worker',
  },
  {
    by: 'a part has the rights of another role',
    sql: 'GRANT pg_read_all_data TO router_worker',
    code: 'grant_extra',
    object: 'membership of router_worker in pg_read_all_data',
  },
]
