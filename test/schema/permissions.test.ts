import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { type DatabaseRole, databaseRoles } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { insertSubscription } from '../support/fixtures.js'
import { codeOf } from '../support/refusal.js'

const database = useDatabase()

/**
 * [S20, J7, D5, E4, R4, G12] Every role and every table or view. A capital letter is the verb on every column
 * (S SELECT, I INSERT, U UPDATE, D DELETE, T TRUNCATE), a small one on the columns that `columns` lists, a dot is nothing.
 */
const matrix = `
                         publisher  ingest  router  orchestrator  worker  operator  subs  keys  maintainer  app   readonly
active_sagas             .          .       .       .             .       .         .     .     .           .     S
api_keys                 .          .       .       .             .       .         .     Siu   .           .     s
completed_sagas          .          .       .       .             .       .         .     .     .           .     S
dead_letters             .          .       .       .             .       S         .     .     .           .     S
deliveries_in_progress   .          .       .       .             .       .         .     .     .           .     S
delivery_cancellations   .          .       .       SD            S       .         .     .     .           .     S
delivery_minutes         .          .       .       SIu           .       .         .     .     SD          .     S
delivery_result_queue    .          .       .       SuD           .       .         .     .     .           .     S
ended_sessions           .          .       .       .             .       .         .     SID   .           .     .
event_keys               .          S       .       .             .       .         .     .     .           .     S
event_minutes            .          .       SIu     .             .       .         .     .     SD          .     S
event_routing_queue      .          .       SuD     .             .       .         .     .     .           .     S
events                   .          Si      s       s             S       .         .     .     .           .     S
failed_sagas             .          .       .       .             .       .         .     .     .           .     S
partition_settings       .          .       .       .             .       .         .     .     S           .     S
partitions               .          .       .       .             .       .         .     .     S           .     S
processes                .          .       .       .             .       .         .     .     SiuD        .     S
request_keys             .          .       .       .             .       .         Siu   .     .           .     .
requeue_batches          .          .       .       .             .       .         .     .     .           .     S
saga_awaited_events      .          .       .       .             .       .         .     .     .           S     S
saga_event_partitions    .          .       .       .             .       .         .     .     S           .     S
saga_events              .          .       .       .             .       .         .     .     .           SI    S
saga_index_usage         .          .       .       .             .       .         .     .     S           .     S
saga_instances           .          .       .       .             .       .         .     .     .           SIUD  S
saga_schema_version      .          S       S       S             S       S         S     S     S           S     S
saga_signals             .          .       .       .             .       .         .     .     .           SuD   S
saga_statistics          .          .       .       .             .       .         .     .     .           .     S
saga_steps               .          .       .       .             .       .         .     .     .           SIUD  S
saga_table_sizes         .          .       .       .             .       .         .     .     S           .     S
saga_wakeups             .          .       .       .             .       .         .     .     .           SIUD  S
set_aside_events         .          .       i       .             .       .         .     .     .           .     S
subscription_breakers    .          .       .       .             SiuD    .         S     .     .           .     S
subscription_routes      .          .       .       .             .       .         .     .     .           .     S
subscription_secrets     .          .       .       .             S       .         Siu   .     .           .     s
subscription_switches    .          .       .       S             SD      .         .     .     .           .     S
subscription_version     .          .       S       .             .       .         .     .     .           .     S
subscriptions            .          s       s       s             s       .         Siu   .     .           .     s
unapplied_results        .          .       .       .             .       .         .     .     .           .     S
unrouted_events          .          .       .       .             .       .         .     .     .           .     S
webhook_delivery_jobs    .          .       .       Si            Su      .         .     .     .           .     S
webhook_delivery_sagas   .          .       Si      Siu           S       .         .     .     .           .     S
`

const heading: Record<string, DatabaseRole> = {
  publisher: 'event_publisher',
  ingest: 'event_ingest_writer',
  router: 'router_worker',
  orchestrator: 'saga_orchestrator',
  worker: 'job_worker',
  operator: 'dead_letter_operator',
  subs: 'subscription_admin',
  keys: 'api_key_admin',
  maintainer: 'schema_maintainer',
  app: 'saga_app_role',
  readonly: 'saga_readonly_role',
}

const publicSubscription =
  'id event_type callback_url active verified created_at updated_at max_attempts deactivation_reason deleted_at'
const eventWithoutPayload = 'id event_type created_at correlation_id traceparent'

/** The columns behind every small letter. All the others are forbidden, and tried one by one. */
const columns: Record<string, string> = {
  'event_ingest_writer INSERT events': 'event_type payload correlation_id traceparent',
  'event_ingest_writer SELECT subscriptions': publicSubscription,
  'router_worker SELECT events': eventWithoutPayload,
  'router_worker SELECT subscriptions': publicSubscription,
  'router_worker UPDATE event_routing_queue': 'id enqueued_at routed_events last_subscription_id',
  'router_worker INSERT set_aside_events': 'event_id event_type correlation_id error_code reason',
  'router_worker INSERT webhook_delivery_sagas': 'event_id subscription_id correlation_id',
  'saga_orchestrator SELECT events': eventWithoutPayload,
  'saga_orchestrator SELECT subscriptions': publicSubscription,
  'saga_orchestrator INSERT webhook_delivery_sagas': 'event_id subscription_id correlation_id',
  'saga_orchestrator UPDATE webhook_delivery_sagas':
    'status attempt_count next_attempt_at final_error_code updated_at',
  'saga_orchestrator INSERT webhook_delivery_jobs':
    'saga_id event_id subscription_id attempt_at attempt correlation_id',
  'saga_orchestrator UPDATE delivery_result_queue': 'enqueued_at',
  'saga_orchestrator UPDATE delivery_minutes': 'succeeded failed dead_lettered durations last_error_code',
  'router_worker UPDATE event_minutes': 'events',
  'schema_maintainer INSERT processes': 'id hostname pid version parts saga_definitions',
  'schema_maintainer UPDATE processes': 'seen_at',
  'job_worker SELECT subscriptions': `${publicSubscription} headers`,
  'job_worker UPDATE webhook_delivery_jobs':
    'status lease_until lease_token worker_id lease_resets response_status error_code retry_after_s duration_ms response_excerpt finished_at',
  'job_worker INSERT subscription_breakers':
    'subscription_id failures last_error_code opened_at paused_until probe_at',
  'job_worker UPDATE subscription_breakers':
    'failures last_error_code last_failed_at opened_at paused_until probe_at',
  'subscription_admin INSERT subscriptions': 'event_type callback_url max_attempts headers',
  'subscription_admin UPDATE subscriptions':
    'event_type callback_url active max_attempts headers verification_challenge deactivation_reason deleted_at',
  'subscription_admin INSERT subscription_secrets': 'subscription_id scheme ciphertext',
  'subscription_admin UPDATE subscription_secrets': 'ciphertext expires_at',
  'subscription_admin INSERT request_keys': 'key fingerprint',
  'subscription_admin UPDATE request_keys': 'secret_id previous_expires_at',
  'api_key_admin INSERT api_keys': 'name scope key_hash',
  'api_key_admin UPDATE api_keys': 'name last_used_at revoked_at',
  'saga_app_role UPDATE saga_signals': 'expires_at',
  'saga_readonly_role SELECT api_keys': 'id name scope created_at last_used_at revoked_at',
  'saga_readonly_role SELECT subscriptions': publicSubscription,
  'saga_readonly_role SELECT subscription_secrets': 'id subscription_id scheme created_at expires_at',
}

/** [S8, U4, D5] Who may call what. A function that is not listed may be called by nobody but the owner. */
const everyone = databaseRoles.filter((role) => role !== 'event_publisher')
const publishers = ['event_ingest_writer', 'event_publisher'] as const
const executable: Record<string, readonly DatabaseRole[]> = {
  'clock()': ['saga_app_role'],
  'now()': everyone,
  'partition_headroom()': everyone,
  'publish(text,json,text,text,text)': publishers,
  'publish(text,jsonb,text,text,text)': publishers,
  'publish(text,text,text,text,text)': publishers,
  'publish_batch(text[],json[],text[],text[],text[])': ['event_ingest_writer'],
  // Called by a CHECK of events, which the planner looks at as well.
  'payload_bytes_max()': [
    'event_ingest_writer',
    'event_publisher',
    'job_worker',
    'router_worker',
    'saga_orchestrator',
    'saga_readonly_role',
  ],
  'gone_subscriptions(timestamp with time zone)': ['subscription_admin'],
  'partition_groups(integer)': ['saga_readonly_role'],
  'work_window(bigint[])': ['job_worker', 'saga_orchestrator'],
  'confirm_verification(bigint,text)': ['subscription_admin'],
  'requeue_dead_letter(bigint)': ['dead_letter_operator'],
  // Own sagas: whoever may ask for the work starts them, the coordinator runs what was planned.
  'start_dead_letter_requeue(jsonb,integer,integer)': ['dead_letter_operator'],
  'requeue_batch(character varying,integer)': ['saga_app_role'],
  'discard_requeue(character varying)': ['saga_app_role'],
  'discard_ended_requeues()': ['saga_app_role'],
  'start_secret_rotation(jsonb)': ['subscription_admin'],
  'remove_ended_secrets()': ['saga_app_role'],
  'ensure_partitions()': ['schema_maintainer'],
  'open_routes()': ['schema_maintainer', 'subscription_admin'],
  'lost_events(bigint,bigint)': ['saga_readonly_role'],
  'requeue_set_aside_events()': ['dead_letter_operator'],
  'requeue_lost_events(bigint,integer)': ['dead_letter_operator'],
  'cancel_delivery(bigint)': ['dead_letter_operator'],
  'held_until(bigint)': ['job_worker', 'saga_readonly_role'],
  'expire_event_keys(timestamp with time zone,integer)': ['schema_maintainer'],
  'cleanup_expired_sagas(timestamp with time zone)': ['saga_app_role'],
  // Called by the CHECKs of the tables that saga_app_role writes.
  'is_json_integer(jsonb,bigint,bigint)': ['saga_app_role'],
  'is_rfc3339(text)': ['saga_app_role'],
  'is_saga_error(jsonb)': ['saga_app_role'],
  'is_saga_retry_policy(jsonb)': ['saga_app_role'],
  'is_saga_compensation_state(jsonb)': ['saga_app_role'],
  'is_saga_event_type(text)': ['saga_app_role'],
  'ensure_saga_event_partitions(interval,integer)': ['schema_maintainer'],
  'drop_saga_event_partitions(timestamp with time zone)': ['schema_maintainer'],
  'saga_event_bounds(oid)': ['saga_readonly_role', 'schema_maintainer'],
  'saga_slow_queries(integer)': ['saga_readonly_role', 'schema_maintainer'],
  'slow_statements(integer)': ['saga_readonly_role'],
  // The coordinator's writes.
  'signal(text,text,json)': ['event_ingest_writer', 'event_publisher', 'saga_app_role'],
  'start_sagas(jsonb)': ['saga_app_role'],
  'wake_sagas(integer)': ['saga_app_role'],
  // What it publishes, and what has become of it.
  'publish_saga_history(jsonb,timestamp with time zone)': ['saga_app_role'],
  'publish_awaited_events(jsonb)': ['saga_app_role'],
  'awaited_deliveries(text[],integer[])': ['saga_app_role'],
  'look_ahead(text[],integer[])': ['saga_app_role'],
  'note_deliveries(integer)': ['saga_app_role'],
  'write_saga_changes(jsonb,bigint)': ['saga_app_role'],
}

const [headline = '', ...lines] = matrix.trim().split('\n')
const roles = headline
  .trim()
  .split(/\s+/)
  .map((short) => heading[short] as DatabaseRole)
const expected = new Map(
  lines.map((line) => {
    const [table = '', ...cells] = line.trim().split(/\s+/)
    return [table, new Map(roles.map((role, index) => [role, cells[index] ?? '']))] as const
  }),
)

async function tablesWithColumns(): Promise<Map<string, string[]>> {
  const { rows } = await database.pool.query(
    `SELECT relname AS table, array_agg(attname::text ORDER BY attnum) AS columns
     FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
     WHERE relnamespace = 'sagapost'::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition
     GROUP BY relname ORDER BY relname`,
  )
  return new Map(rows.map((row) => [row.table, row.columns]))
}

/** Touches one column of no row: the right is checked before the first row is looked for. */
const probes: Record<'SELECT' | 'INSERT' | 'UPDATE', (table: string, column: string) => string> = {
  SELECT: (table, column) => `SELECT ${column} FROM sagapost.${table} LIMIT 0`,
  INSERT: (table, column) => `INSERT INTO sagapost.${table} (${column}) SELECT NULL WHERE false`,
  UPDATE: (table, column) => `UPDATE sagapost.${table} SET ${column} = DEFAULT WHERE false`,
}

/** Refused for want of the right, or because nobody can: a view that is made of more than one table. */
const refusals = ['permission_denied', 'SQLSTATE 55000', 'SQLSTATE 42809']

const allowed = async (client: pg.PoolClient, sql: string) =>
  !refusals.includes(await codeOf(client.query(sql)))

describe('the matrix', () => {
  it('[O2] has every role and every table and view of the schema', async () => {
    expect(roles).toEqual(databaseRoles)
    expect([...expected.keys()]).toEqual([...(await tablesWithColumns()).keys()])
  })

  it.each(roles)('[S20, J7, D5, E4, R4, G12, S8] %s may do exactly what its column says', async (role) => {
    // One connection for all: a pool drops the one that an error came over.
    const client = await database.as(role).connect()
    const actual: Record<string, string> = {}
    const listed: Record<string, string> = {}
    for (const [table, all] of await tablesWithColumns()) {
      let cell = ''
      for (const verb of ['SELECT', 'INSERT', 'UPDATE'] as const) {
        const open: string[] = []
        for (const column of all) if (await allowed(client, probes[verb](table, column))) open.push(column)
        if (open.length === all.length) cell += verb[0]
        else if (open.length > 0) {
          cell += verb[0]?.toLowerCase()
          listed[`${role} ${verb} ${table}`] = open.join(' ')
        }
      }
      if (await allowed(client, `DELETE FROM sagapost.${table} WHERE false`)) cell += 'D'
      if (await allowed(client, `TRUNCATE sagapost.${table}`)) cell += 'T'
      actual[table] = cell || '.'
    }
    client.release()
    expect(actual).toEqual(
      Object.fromEntries([...expected].map(([table, cells]) => [table, cells.get(role)])),
    )
    expect(sortWords(listed)).toEqual(
      sortWords(Object.fromEntries(Object.entries(columns).filter(([key]) => key.startsWith(`${role} `)))),
    )
  })

  it('[E4, J7] no role reaches a partition directly, for any verb', async () => {
    const { rows } = await database.pool.query(
      `SELECT role || ' ' || verb || ' ' || relname AS open
       FROM pg_class, unnest($1::text[]) AS role,
            unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) AS verb
       WHERE relnamespace = 'sagapost'::regnamespace AND relispartition AND relkind = 'r'
         AND (has_table_privilege(role, pg_class.oid, verb)
           OR CASE WHEN verb IN ('SELECT', 'INSERT', 'UPDATE', 'REFERENCES')
                   THEN has_any_column_privilege(role, pg_class.oid, verb) END)`,
      [databaseRoles],
    )
    expect(rows).toEqual([])
  })

  it('[O2] PUBLIC has nothing in the schema', async () => {
    const { rows } = await database.pool.query(
      `SELECT relname AS open FROM pg_class, aclexplode(relacl)
       WHERE relnamespace = 'sagapost'::regnamespace AND grantee = 0
       UNION ALL SELECT proname FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
       WHERE pronamespace = 'sagapost'::regnamespace AND grantee = 0
       UNION ALL SELECT nspname FROM pg_namespace, aclexplode(coalesce(nspacl, acldefault('n', nspowner)))
       WHERE nspname = 'sagapost' AND grantee = 0`,
    )
    expect(rows).toEqual([])
  })

  const sortWords = (lists: Record<string, string>) =>
    Object.fromEntries(Object.entries(lists).map(([key, words]) => [key, words.split(' ').sort().join(' ')]))
})

describe('sequences and types', () => {
  it('[S20, E4, R4] of each only what an INSERT or a cast needs', async () => {
    const { rows: sequences } = await database.pool.query(
      `SELECT relname AS name, role, string_agg(granted, ' ' ORDER BY granted) AS rights
       FROM pg_class, unnest($1::text[]) AS role, unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) AS granted
       WHERE relnamespace = 'sagapost'::regnamespace AND relkind = 'S' AND has_sequence_privilege(role, pg_class.oid, granted)
       GROUP BY 1, 2 ORDER BY 1, 2`,
      [databaseRoles],
    )
    expect(sequences.map(({ name, role, rights }) => `${name} ${role} ${rights}`)).toEqual([
      'events_id_seq event_ingest_writer USAGE',
      'saga_events_id_seq saga_app_role USAGE',
      'saga_wakeups_id_seq saga_app_role USAGE',
      'webhook_delivery_jobs_id_seq saga_orchestrator USAGE',
      'webhook_delivery_sagas_id_seq router_worker USAGE',
      'webhook_delivery_sagas_id_seq saga_orchestrator USAGE',
    ])
    const { rows: types } = await database.pool.query(
      `SELECT typname || ' ' || role AS open FROM pg_type, unnest($1::text[]) AS role
       WHERE typnamespace = 'sagapost'::regnamespace AND typtype = 'e' AND has_type_privilege(role, pg_type.oid, 'USAGE')
       ORDER BY 1`,
      [databaseRoles],
    )
    const roles = ['job_worker', 'router_worker', 'saga_orchestrator', 'saga_readonly_role']
    expect(types.map(({ open }) => open)).toEqual(
      ['delivery_status', 'job_status'].flatMap((type) => roles.map((role) => `${type} ${role}`)),
    )
  })
})

describe('functions', () => {
  it('[S8, D5, U4] each role may call exactly the functions that are listed for it', async () => {
    const { rows } = await database.pool.query(
      `SELECT proname || '(' || array_to_string(array(SELECT format_type(t, NULL) FROM unnest(proargtypes) AS t), ',') || ')' AS function,
              array_agg(role ORDER BY role) AS roles
       FROM pg_proc, unnest($1::text[]) AS role
       WHERE pronamespace = 'sagapost'::regnamespace AND has_function_privilege(role, pg_proc.oid, 'EXECUTE')
       GROUP BY 1`,
      [databaseRoles],
    )
    const actual = Object.fromEntries(rows.map((row) => [row.function, row.roles]))
    expect(actual).toEqual(
      Object.fromEntries(Object.entries(executable).map(([name, who]) => [name, [...who].sort()])),
    )
  })

  it('[S8] every SECURITY DEFINER function has its search_path pinned', async () => {
    const { rows } = await database.pool.query(
      `SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'sagapost'::regnamespace AND prosecdef`,
    )
    expect(rows.length).toBeGreaterThan(0)
    for (const { proname, proconfig } of rows) {
      expect([proname, proconfig]).toEqual([
        proname,
        expect.arrayContaining(['search_path=pg_catalog, pg_temp']),
      ])
    }
  })
})

describe('each part has the rights for its work', () => {
  it('[S6, J7, R4, E4] an event passes from role to role', async () => {
    const { rows: published } = await database
      .as('event_ingest_writer')
      .query(`SELECT sagapost.publish('order.placed', '{"order": 1}', 'key-1') AS id`)
    const eventId = published[0].id
    await database.as('router_worker').query(
      `WITH taken AS (
         SELECT id FROM sagapost.event_routing_queue WHERE $1 = ANY (event_ids) FOR UPDATE SKIP LOCKED
       ), gone AS (
         DELETE FROM sagapost.event_routing_queue AS queued USING taken WHERE queued.id = taken.id RETURNING event_ids
       )
       INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) SELECT unnest(event_ids), $2 FROM gone
       ON CONFLICT (event_id, subscription_id, requeued_from) DO NOTHING`,
      [eventId, await insertSubscription(database.pool)],
    )
    const orchestrator = database.as('saga_orchestrator')
    await orchestrator.query(
      `WITH saga AS (
         UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress', updated_at = sagapost.now()
         WHERE event_id = $1 RETURNING id, event_id, subscription_id
       )
       INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id) SELECT id, event_id, subscription_id FROM saga`,
      [eventId],
    )
    await database.as('job_worker').query(
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Leased', lease_token = gen_random_uuid(), worker_id = 'w'
       WHERE event_id = $1`,
      [eventId],
    )
    await database.as('job_worker').query(
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Failed', error_code = 'http_500', response_status = 500
       WHERE event_id = $1`,
      [eventId],
    )
    for (const status of ['PendingRetry', 'DeadLettered']) {
      await orchestrator.query(
        `UPDATE sagapost.webhook_delivery_sagas
         SET status = $2::sagapost.delivery_status, attempt_count = 1 WHERE event_id = $1`,
        [eventId, status],
      )
    }
    const { rows } = await database
      .as('dead_letter_operator')
      .query('SELECT payload_snapshot FROM sagapost.dead_letters WHERE event_id = $1', [eventId])
    expect(rows).toEqual([{ payload_snapshot: { order: 1 } }])
  })
})
