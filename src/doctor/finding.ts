import { errorCatalogue } from '../errors/index.js'

/** A result for the operator: ok, needs attention, or failing. */
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
  | 'locks'
  | 'vacuum'
  | 'breakers'
  | 'dead_letters'

interface Kind {
  severity: Exclude<Severity, 'ok'>
  means: string
  remedy: string
}

const { title: unreachable } = errorCatalogue.database_unreachable

/** All findings of the doctor, in the order of its checks. Codes are stable. */
export const findingCatalogue = {
  database_unreachable: {
    severity: 'failing',
    means: unreachable,
    remedy:
      'Start PostgreSQL, or correct the host and port in DATABASE_URL. If it does not start, its log says why',
  },
  connections_exhausted: {
    severity: 'failing',
    means: 'PostgreSQL has no free connections',
    remedy:
      'End sessions that are not needed (pg_stat_activity lists them), raise max_connections or the connection limit of the login, or use a pooler',
  },
  database_login_refused: {
    severity: 'failing',
    means: errorCatalogue.database_login_refused.title,
    remedy: 'Correct the user and password in DATABASE_URL, or pg_hba.conf',
  },
  database_missing: {
    severity: 'failing',
    means: errorCatalogue.database_missing.title,
    remedy: 'Correct the database name in DATABASE_URL, or create the database and run sagapost migrate',
  },
  postgres_too_old: {
    severity: 'failing',
    means: errorCatalogue.postgres_too_old.title,
    remedy: 'Upgrade PostgreSQL',
  },
  database_not_utf8: {
    severity: 'failing',
    means: errorCatalogue.database_not_utf8.title,
    remedy: "Create a database with ENCODING 'UTF8' and restore the data into it",
  },
  login_settings_missing: {
    severity: 'failing',
    means: errorCatalogue.login_settings_missing.title,
    remedy: 'Run the ALTER ROLE statements in the finding',
  },
  schema_outdated: {
    severity: 'failing',
    means: errorCatalogue.schema_outdated.title,
    remedy: 'Run sagapost migrate',
  },
  schema_newer: {
    severity: 'failing',
    means: errorCatalogue.schema_newer.title,
    remedy: 'Use the release that migrated the database, or a later one',
  },
  schema_unreleased: {
    severity: 'failing',
    means: errorCatalogue.schema_unreleased.title,
    remedy: 'Migrate an empty database; the data of a development version is lost',
  },
  partition_headroom_low: {
    severity: 'failing',
    means: errorCatalogue.partition_headroom_low.title,
    remedy:
      'Create partitions with SELECT sagapost.ensure_partitions(); the log of a running process says why it did not',
  },
  permission_denied: {
    severity: 'failing',
    means: 'A privilege is missing: the check fails, and most likely a part does too',
    remedy:
      'sagapost doctor --schema lists the missing grants; the roles check lists the roles that the login lacks',
  },
  check_timed_out: {
    severity: 'failing',
    means: 'A check did not finish in time',
    remedy: 'PostgreSQL is overloaded or waits for a lock: see the sessions check, then run the doctor again',
  },
  check_failed: {
    severity: 'failing',
    means: 'A check failed',
    remedy: 'Run sagapost doctor --schema to see whether the schema matches this release',
  },
  database_read_only: {
    severity: 'failing',
    means: errorCatalogue.database_read_only.title,
    remedy: 'Point DATABASE_URL at the primary, promote this server, or reset default_transaction_read_only',
  },
  database_timed_out: {
    severity: 'failing',
    means: errorCatalogue.database_timed_out.title,
    remedy:
      'Bring the synchronous standby back or change synchronous_standby_names; otherwise check the load on the disk',
  },
  database_full: {
    severity: 'failing',
    means: errorCatalogue.database_full.title,
    remedy: 'Free space on the PostgreSQL disk; Sagapost then continues by itself',
  },
  database_locks_exhausted: {
    severity: 'failing',
    means: errorCatalogue.database_locks_exhausted.title,
    remedy:
      'Raise max_locks_per_transaction in postgresql.conf and restart PostgreSQL; or drop old ranges: docs/operating/partitions.md',
  },
  writes_not_tested: {
    severity: 'attention',
    means: 'The login lacks the privilege to test a write',
    remedy: 'GRANT schema_maintainer to the login',
  },
  durability_off: {
    severity: 'attention',
    means: 'A PostgreSQL setting can lose committed data',
    remedy: 'Set or reset it as the finding says',
  },
  role_not_granted: {
    severity: 'attention',
    means: 'The login cannot assume a role, so the parts that use that role cannot start',
    remedy: 'Grant the role to the login; with {role} in DATABASE_URL, create the login for that role',
  },
  login_owns_schema: {
    severity: 'attention',
    means:
      'The parts run under a login that owns the schema or is a superuser: its password gives a way around every guard',
    remedy: 'Run serve under a login of its own, with the statements in docs/operating/database.md',
  },
  object_missing: {
    severity: 'failing',
    means: 'The schema lacks a table, column, constraint, function or view of this release',
    remedy: 'sagapost doctor --schema prints the statements that fix it',
  },
  object_altered: {
    severity: 'failing',
    means: 'An object in the schema differs from its definition in this release',
    remedy: 'sagapost doctor --schema prints the statements that fix it',
  },
  object_extra: {
    severity: 'attention',
    means: 'The schema sagapost contains an object that is not part of this release',
    remedy: 'Drop it or move it to another schema, unless something needs it there',
  },
  index_missing: {
    severity: 'failing',
    means: 'An index is missing; without the one for claims, for example, each claim reads all jobs',
    remedy: 'sagapost doctor --schema prints the statements that build it again without blocking writers',
  },
  index_invalid: {
    severity: 'failing',
    means: 'An index is invalid: writes keep it up to date, but no query uses it',
    remedy: 'sagapost doctor --schema prints the statement that rebuilds it',
  },
  index_extra: {
    severity: 'attention',
    means: 'An operator added an index (a note, printed by --schema only: nothing is wrong)',
    remedy: 'Drop it if no query needs it: every index makes each delivery more expensive',
  },
  trigger_missing: {
    severity: 'failing',
    means: 'A trigger is missing: a queue is not filled, or a rule is not enforced',
    remedy:
      'sagapost doctor --schema prints the statements that create it again; then run sagapost doctor --invariants',
  },
  trigger_disabled: {
    severity: 'failing',
    means: 'A trigger is disabled: a queue is not filled, or a rule is not enforced',
    remedy:
      'sagapost doctor --schema prints the statement that enables it; then run sagapost events requeue to route the events lost in the meantime',
  },
  grant_missing: {
    severity: 'failing',
    means: 'A privilege that this release needs was revoked: a part fails with permission_denied',
    remedy: 'sagapost doctor --schema prints the GRANT',
  },
  grant_extra: {
    severity: 'attention',
    means: 'A role, or PUBLIC, has a privilege that this release does not grant',
    remedy: 'sagapost doctor --schema prints the REVOKE',
  },
  partition_unguarded: {
    severity: 'failing',
    means:
      'A partition lacks one of its own triggers: TRUNCATE is not refused there, or a queue is not filled from it',
    remedy: 'sagapost doctor --schema prints the statements that create it',
  },
  partition_altered: {
    severity: 'failing',
    means:
      'A partition differs from its table: it is unlogged, its DETACH is unfinished, or it has other defaults',
    remedy: 'sagapost doctor --schema prints the statements that fix it',
  },
  part_not_running: {
    severity: 'failing',
    means: 'Work waits for a part that no process runs',
    remedy: 'Start a process with that part: sagapost serve, with or without --only',
  },
  nothing_runs: {
    severity: 'failing',
    means: 'No Sagapost process is running; no work is waiting yet, but new events will not be delivered',
    remedy: 'Start one: sagapost serve',
  },
  process_lost: {
    severity: 'attention',
    means:
      'A process has not reported for 30 seconds and did not stop cleanly; it is forgotten after an hour',
    remedy:
      'It was killed, hangs or cannot reach the database: check its host. Its leases expire by themselves',
  },
  versions_differ: {
    severity: 'attention',
    means: 'Processes of different releases are running',
    remedy: 'Finish the deployment: restart the processes of the older release',
  },
  events_lost: {
    severity: 'failing',
    means:
      'Recent events lack a delivery and are not in the routing queue: their rows there were deleted or never written',
    remedy: 'Run sagapost events requeue to route them',
  },
  results_lost: {
    severity: 'failing',
    means: 'Recent results are not in their queue: their rows there were deleted or never written',
    remedy:
      'Put them back with the statement in docs/operating/doctor.md; until then their deliveries stay InProgress',
  },
  work_late: {
    severity: 'failing',
    means: 'Work has waited for more than a minute although its part is running',
    remedy: 'The log of that part says why; see also the checks schema, sessions and vacuum',
  },
  events_set_aside: {
    severity: 'failing',
    means: 'The database refused the deliveries of some events',
    remedy: 'sagapost events set-aside shows why; sagapost events requeue tries again',
  },
  sagas_without_process: {
    severity: 'attention',
    means: 'Sagas have work to do, and no running process has their definition in this version',
    remedy:
      'Start the application that defines them, with this version of the definition beside a newer one; a cancelled saga needs it as well',
  },
  sagas_stuck: {
    severity: 'attention',
    means: 'Sagas are waiting for an operator to decide',
    remedy: 'sagapost sagas list --stuck shows them; decide with sagapost sagas resolve',
  },
  master_key_wrong: {
    severity: 'failing',
    means: errorCatalogue.master_key_wrong.title,
    remedy:
      'Set the SAGAPOST_MASTER_KEY that the secrets were sealed with, or rotate every secret under the new one',
  },
  secret_damaged: {
    severity: 'failing',
    means:
      'The signing secret of an active subscription cannot be opened: its deliveries end as dead letters',
    remedy:
      'Rotate it (sagapost subscriptions rotate-secret), give the receiver the new secret, then requeue the dead letters',
  },
  secret_missing: {
    severity: 'failing',
    means: 'An active subscription has no signing secret: its deliveries end as dead letters',
    remedy:
      'Rotate it (sagapost subscriptions rotate-secret), give the receiver the new secret, then requeue the dead letters',
  },
  clock_set_back: {
    severity: 'failing',
    means: 'Rows have times in the future: the clock of PostgreSQL was set back',
    remedy: 'Correct the clock (NTP). Until it has caught up, retries come later and leases last longer',
  },
  clock_differs: {
    severity: 'attention',
    means: 'The clocks of this machine and of PostgreSQL differ by more than 30 seconds',
    remedy: 'Correct the clock that is wrong (NTP): receivers refuse signatures whose time is minutes off',
  },
  snapshot_held: {
    severity: 'attention',
    means:
      'A transaction has been open for more than 5 minutes: VACUUM cannot remove rows that died since then, and the queues slow down',
    remedy: 'Commit it or end it: SELECT pg_terminate_backend(pid), or ROLLBACK PREPARED',
  },
  lock_waited_for: {
    severity: 'failing',
    means:
      'A session of Sagapost, or one that needs a Sagapost table, has waited for a lock for more than a minute',
    remedy:
      'End the session that holds the lock: SELECT pg_terminate_backend(pid), or ROLLBACK PREPARED (pg_prepared_xacts lists them)',
  },
  connections_nearly_exhausted: {
    severity: 'attention',
    means: 'At least 90 % of the connections of the server, the database or a login are in use',
    remedy: 'Raise max_connections or the connection limit of the database or the login, or use a pooler',
  },
  lock_headroom_low: {
    severity: 'attention',
    means:
      'Fewer than four statements over all partitions fit into the table of locks of PostgreSQL at the same time; what does not fit fails with database_locks_exhausted',
    remedy:
      'Raise max_locks_per_transaction in postgresql.conf and restart PostgreSQL; or drop old ranges: docs/operating/partitions.md',
  },
  autovacuum_off: {
    severity: 'attention',
    means: 'Autovacuum is off for the server or a table: dead rows stay, and the queues slow down',
    remedy: 'Turn on autovacuum and track_counts; for a table: ALTER TABLE … RESET (autovacuum_enabled)',
  },
  endpoints_paused: {
    severity: 'attention',
    means: 'Endpoints keep failing and are paused',
    remedy: 'sagapost subscriptions list --failing shows them',
  },
  dead_letters_waiting: {
    severity: 'attention',
    means: 'Dead letters of the last day have not been requeued',
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
