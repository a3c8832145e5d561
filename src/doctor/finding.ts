import { errorCatalogue } from '../errors/index.js'

/** What an operator is told: all is well, look at this, or this does not work. */
export interface Finding {
  check: Check
  severity: Severity
  /** Absent when all is well. docs/operating/doctor.md says what each means. */
  code?: FindingCode
  detail: string
  /** What to do about it. */
  remedy?: string
}

type Severity = 'ok' | 'attention' | 'failing'

export type Check =
  | 'database'
  | 'writes'
  | 'durability'
  | 'roles'
  | 'schema'
  | 'processes'
  | 'routing'
  | 'results'
  | 'backlog'
  | 'secrets'
  | 'clock'
  | 'sessions'
  | 'vacuum'
  | 'breakers'
  | 'dead_letters'

interface Kind {
  severity: Exclude<Severity, 'ok'>
  means: string
  remedy: string
}

const { title: unreachable } = errorCatalogue.database_unreachable

/** Everything that the doctor can find, in the order of its checks. Codes are stable. */
export const findingCatalogue = {
  database_unreachable: {
    severity: 'failing',
    means: unreachable,
    remedy:
      'Start PostgreSQL, or correct the host and port of DATABASE_URL; its log says why it does not run',
  },
  connections_exhausted: {
    severity: 'failing',
    means: 'PostgreSQL has no connection left',
    remedy:
      'End sessions that are not needed (pg_stat_activity lists them), raise max_connections or the limit of the role, or use a pooler',
  },
  database_login_refused: {
    severity: 'failing',
    means: errorCatalogue.database_login_refused.title,
    remedy: 'Correct user and password of DATABASE_URL, or pg_hba.conf',
  },
  database_missing: {
    severity: 'failing',
    means: errorCatalogue.database_missing.title,
    remedy: 'Correct the database of DATABASE_URL, or create and migrate it',
  },
  postgres_too_old: {
    severity: 'failing',
    means: errorCatalogue.postgres_too_old.title,
    remedy: 'Upgrade PostgreSQL',
  },
  database_not_utf8: {
    severity: 'failing',
    means: errorCatalogue.database_not_utf8.title,
    remedy: "Create a database with ENCODING 'UTF8' and restore into it",
  },
  login_settings_missing: {
    severity: 'failing',
    means: errorCatalogue.login_settings_missing.title,
    remedy: 'Run the ALTER ROLE statements that are named',
  },
  schema_outdated: {
    severity: 'failing',
    means: errorCatalogue.schema_outdated.title,
    remedy: 'Run sagapost migrate',
  },
  schema_newer: {
    severity: 'failing',
    means: errorCatalogue.schema_newer.title,
    remedy: 'Use the release that migrated it, or a later one',
  },
  partition_headroom_low: {
    severity: 'failing',
    means: errorCatalogue.partition_headroom_low.title,
    remedy:
      'SELECT sagapost.ensure_partitions() makes partitions; the log of a running process says why it does not',
  },
  permission_denied: {
    severity: 'failing',
    means: 'A right is missing, so that a check, and most likely a part, does not work',
    remedy:
      'sagapost doctor --schema names the grants that are missing; roles lists those that the login lacks',
  },
  check_timed_out: {
    severity: 'failing',
    means: 'A check did not end in time',
    remedy: 'PostgreSQL is overloaded or waits for a lock: see sessions; run the doctor again',
  },
  check_failed: {
    severity: 'failing',
    means: 'A check failed',
    remedy: 'sagapost doctor --schema says whether the schema is that of the release',
  },
  database_read_only: {
    severity: 'failing',
    means: errorCatalogue.database_read_only.title,
    remedy:
      'Lead DATABASE_URL to the primary or promote this server; or take default_transaction_read_only back',
  },
  database_timed_out: {
    severity: 'failing',
    means: errorCatalogue.database_timed_out.title,
    remedy:
      'Bring the synchronous standby back or change synchronous_standby_names; otherwise look at the load of the disk',
  },
  database_full: {
    severity: 'failing',
    means: errorCatalogue.database_full.title,
    remedy: 'Make room on the disk of PostgreSQL; Sagapost goes on by itself',
  },
  writes_not_tested: {
    severity: 'attention',
    means: 'The login lacks the right to test a write',
    remedy: 'GRANT schema_maintainer to the login',
  },
  durability_off: {
    severity: 'attention',
    means: 'A setting of PostgreSQL can lose what was committed',
    remedy: 'Set or reset it as the finding says',
  },
  role_not_granted: {
    severity: 'attention',
    means: 'The login may not work as a role, so that the parts of that role cannot start',
    remedy: 'Grant the role to the login; with {role} in DATABASE_URL, make the login of that role',
  },
  object_missing: {
    severity: 'failing',
    means: 'The schema lacks a table, column, constraint, function or view of the release',
    remedy: 'sagapost doctor --schema prints the statements that mend it',
  },
  object_altered: {
    severity: 'failing',
    means: 'An object of the schema is not as the release defines it',
    remedy: 'sagapost doctor --schema prints the statements that mend it',
  },
  object_extra: {
    severity: 'attention',
    means: 'The schema sagapost holds an object that is not of the release',
    remedy: 'Remove it, or move it to another schema, if no one needs it there',
  },
  index_missing: {
    severity: 'failing',
    means: 'An index is missing; without that of claims, for example, each claim reads all jobs',
    remedy: 'sagapost doctor --schema prints the statements that make it again, while writers go on',
  },
  index_invalid: {
    severity: 'failing',
    means: 'An index is invalid: writes keep it up to date, no query uses it',
    remedy: 'sagapost doctor --schema prints the statement that builds it anew',
  },
  index_extra: {
    severity: 'attention',
    means: 'An operator added an index (a note: --schema prints it, nothing is wrong)',
    remedy: 'Drop it if no query needs it: each index costs every delivery',
  },
  trigger_missing: {
    severity: 'failing',
    means: 'A trigger is missing: a queue is not filled, or a rule is not held',
    remedy:
      'sagapost doctor --schema prints the statements that make it again; then sagapost doctor --invariants',
  },
  trigger_disabled: {
    severity: 'failing',
    means: 'A trigger is disabled: a queue is not filled, or a rule is not held',
    remedy:
      'sagapost doctor --schema prints the statement that enables it; then sagapost events requeue routes what was lost meanwhile',
  },
  grant_missing: {
    severity: 'failing',
    means: 'A right of the release was revoked: a part fails with permission_denied',
    remedy: 'sagapost doctor --schema prints the GRANT',
  },
  grant_extra: {
    severity: 'attention',
    means: 'A role has a right that the release does not give it, or all have',
    remedy: 'sagapost doctor --schema prints the REVOKE',
  },
  partition_unguarded: {
    severity: 'failing',
    means:
      'A partition lacks a trigger of its own: TRUNCATE is not refused there, or a queue is not filled from it',
    remedy: 'sagapost doctor --schema prints the statements that make it',
  },
  partition_altered: {
    severity: 'failing',
    means: 'A partition is not as its table is: unlogged, half detached, with other defaults',
    remedy: 'sagapost doctor --schema prints the statements that mend it',
  },
  part_not_running: {
    severity: 'failing',
    means: 'Work waits for a part that no process runs',
    remedy: 'Start a process with that part: sagapost serve, or with --only',
  },
  nothing_runs: {
    severity: 'attention',
    means: 'No process of Sagapost runs; nothing waits either',
    remedy: 'Start one: sagapost serve',
  },
  process_lost: {
    severity: 'attention',
    means:
      'A process has not been heard of for 30 seconds, and did not stop cleanly; it is forgotten after an hour',
    remedy:
      'It was killed, hangs or cannot reach the database: look at its host. Its leases run out by themselves',
  },
  versions_differ: {
    severity: 'attention',
    means: 'Processes of several releases run',
    remedy: 'End the deployment: restart those of the older release',
  },
  events_lost: {
    severity: 'failing',
    means:
      'Recent events lack a delivery and are not in the routing queue: rows were deleted from it, or not written',
    remedy: 'sagapost events requeue routes them',
  },
  results_lost: {
    severity: 'failing',
    means: 'Recent results are not in their queue: rows were deleted from it, or not written',
    remedy:
      'Put them back with the statement of docs/operating/doctor.md; until then the deliveries stay InProgress',
  },
  work_late: {
    severity: 'failing',
    means: 'Work has waited for more than a minute, though its part runs',
    remedy: 'The log of that part says why; see also schema, sessions and vacuum',
  },
  events_set_aside: {
    severity: 'failing',
    means: 'The database refused the deliveries of events',
    remedy: 'sagapost events set-aside shows why, sagapost events requeue tries again',
  },
  sagas_without_process: {
    severity: 'attention',
    means: 'Sagas have work to do, and no running process has their definition in this version',
    remedy:
      'Start the application that defines them, with this version of the definition beside a newer one; a cancelled saga needs it as well',
  },
  sagas_stuck: {
    severity: 'attention',
    means: 'Sagas wait for a decision of an operator',
    remedy: 'sagapost sagas list --stuck shows them, sagapost sagas resolve mends them',
  },
  master_key_wrong: {
    severity: 'failing',
    means: errorCatalogue.master_key_wrong.title,
    remedy:
      'Give the SAGAPOST_MASTER_KEY that the secrets were sealed with; or rotate every secret under the new one',
  },
  secret_damaged: {
    severity: 'failing',
    means: 'The signing secret of an active subscription does not open: its deliveries end as dead letters',
    remedy:
      'Rotate it (sagapost subscriptions rotate-secret), give the receiver the new one, then requeue the dead letters',
  },
  secret_missing: {
    severity: 'failing',
    means: 'An active subscription has no signing secret: its deliveries end as dead letters',
    remedy:
      'Rotate it (sagapost subscriptions rotate-secret), give the receiver the new one, then requeue the dead letters',
  },
  clock_set_back: {
    severity: 'failing',
    means: 'Rows are from the future: the clock of PostgreSQL was set back',
    remedy: 'Correct the clock (NTP). Until it has caught up, retries come later, and leases last longer',
  },
  clock_differs: {
    severity: 'attention',
    means: 'The clocks of this machine and of PostgreSQL differ by more than 30 seconds',
    remedy:
      'Correct the clock that is wrong (NTP): receivers refuse signatures whose time is more than minutes off',
  },
  snapshot_held: {
    severity: 'attention',
    means:
      'A transaction has been open for more than 5 minutes: VACUUM removes nothing that died since, and the queues grow slow',
    remedy: 'Commit or end it: SELECT pg_terminate_backend(pid), or ROLLBACK PREPARED',
  },
  lock_waited_for: {
    severity: 'failing',
    means: 'A session has waited for a lock of Sagapost for more than a minute',
    remedy: 'End the session that holds it: SELECT pg_terminate_backend(pid)',
  },
  connections_nearly_exhausted: {
    severity: 'attention',
    means: 'More than nine tenths of the connections of PostgreSQL, or of a role, are taken',
    remedy: 'Raise max_connections or the limit of the role, or use a pooler',
  },
  autovacuum_off: {
    severity: 'attention',
    means: 'Tables are not vacuumed: dead rows stay, and the queues grow slow',
    remedy: 'Set autovacuum (and track_counts) on; of a table: ALTER TABLE … RESET (autovacuum_enabled)',
  },
  endpoints_paused: {
    severity: 'attention',
    means: 'Endpoints keep failing and are paused',
    remedy: 'sagapost subscriptions list --failing shows them',
  },
  dead_letters_waiting: {
    severity: 'attention',
    means: 'Dead letters of the last day were not requeued',
    remedy: 'sagapost dead-letters list shows them',
  },
} satisfies Record<string, Kind>

export type FindingCode = keyof typeof findingCatalogue

export function finding(check: Check, code: FindingCode, detail: string, remedy?: string): Finding {
  const kind = findingCatalogue[code]
  return { check, severity: kind.severity, code, detail, remedy: remedy ?? kind.remedy }
}

export function fine(check: Check, detail: string): Finding {
  return { check, severity: 'ok', detail }
}

export function isFindingCode(code: string): code is FindingCode {
  return code in findingCatalogue
}
