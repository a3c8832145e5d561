import type pg from 'pg'
import { inTransaction } from '../database/index.js'
import { type Finding, finding, fine } from './finding.js'

const OPEN_S_MAX = 300
/** For sessions of other logins, whose times only a member of pg_read_all_stats sees. */
const OPEN_XIDS_MAX = 100_000
const LOCK_S_MAX = 60
const NEARLY = 0.9
const NAMED_MAX = 10

const selectNow = 'SELECT sagapost.now() AS now'

// What keeps VACUUM from removing dead rows of this database, the oldest first. Shared memory only: no table is read.
const selectOpen = `
  SELECT pid, usename AS login, application_name AS application, state,
         extract(epoch FROM $1::timestamptz - xact_start)::float8 AS open_s,
         greatest(age(backend_xmin), age(backend_xid)) AS open_xids, NULL AS prepared
  FROM pg_catalog.pg_stat_activity
  WHERE datname = pg_catalog.current_database() AND pid <> pg_catalog.pg_backend_pid()
    AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL OR state LIKE 'idle in transaction%')
    AND coalesce(backend_type, 'client backend') = 'client backend'
    AND coalesce(xact_start < $1::timestamptz - $2 * interval '1 second',
                 greatest(age(backend_xmin), age(backend_xid)) > $3)
  UNION ALL
  SELECT NULL, owner, NULL, 'prepared', extract(epoch FROM $1::timestamptz - prepared)::float8, age(transaction), gid
  FROM pg_catalog.pg_prepared_xacts
  WHERE database = pg_catalog.current_database() AND prepared < $1::timestamptz - $2 * interval '1 second'
  ORDER BY open_s DESC NULLS LAST, open_xids DESC
  LIMIT $4`

// Waiters for a table of ours, or of ours for any: of rows and transactions, no table is known.
const selectWaiting = `
  SELECT waiter.pid, session.application_name AS application, pg_class.relname AS table,
         extract(epoch FROM $1::timestamptz - waiter.waitstart)::float8 AS waiting_s,
         pg_catalog.pg_blocking_pids(waiter.pid) AS held_by
  FROM pg_catalog.pg_locks AS waiter
  JOIN pg_catalog.pg_stat_activity AS session ON session.pid = waiter.pid AND session.datname = pg_catalog.current_database()
  LEFT JOIN pg_catalog.pg_class ON pg_class.oid = waiter.relation
  LEFT JOIN pg_catalog.pg_namespace AS schema ON schema.oid = pg_class.relnamespace
  WHERE NOT waiter.granted AND waiter.waitstart < $1::timestamptz - $2 * interval '1 second'
    AND (schema.nspname = 'sagapost' OR session.application_name LIKE 'sagapost%')
  ORDER BY waiter.waitstart
  LIMIT $3`

// As many as pg_stat_database counts, of those that are not kept for superusers; and of each login with a limit.
const selectConnections = `
  SELECT 'the server' AS of, sum(numbackends)::int AS used,
         (SELECT sum(CASE name WHEN 'max_connections' THEN setting::int ELSE -setting::int END)::int
          FROM pg_catalog.pg_settings
          WHERE name IN ('max_connections', 'superuser_reserved_connections', 'reserved_connections')) AS most
  FROM pg_catalog.pg_stat_database
  UNION ALL
  SELECT 'the database', numbackends, datconnlimit
  FROM pg_catalog.pg_stat_database JOIN pg_catalog.pg_database ON pg_database.oid = datid
  WHERE pg_database.datname = pg_catalog.current_database() AND datconnlimit > 0
  UNION ALL
  SELECT 'the login ' || rolname, count(*)::int, rolconnlimit
  FROM pg_catalog.pg_stat_activity JOIN pg_catalog.pg_roles ON pg_roles.oid = usesysid
  WHERE rolconnlimit > 0 GROUP BY rolname, rolconnlimit`

interface Open {
  pid: number | null
  login: string
  application: string | null
  state: string | null
  open_s: number | null
  open_xids: number | null
  prepared: string | null
}

interface Waiting {
  pid: number
  application: string
  table: string | null
  waiting_s: number
  held_by: number[]
}

/** Who holds others up. As the login itself, which sees the times of its own sessions. */
export async function examineSessions(pool: pg.Pool): Promise<Finding[]> {
  const { rows } = await pool.query<{ now: Date }>(selectNow)
  const now = rows[0]?.now
  return inTransaction(pool, async (client) => {
    await client.query('SET LOCAL ROLE NONE')
    const open = await client.query<Open>(selectOpen, [now, OPEN_S_MAX, OPEN_XIDS_MAX, NAMED_MAX])
    const waiting = await client.query<Waiting>(selectWaiting, [now, LOCK_S_MAX, NAMED_MAX])
    const connections = await client.query<{ of: string; used: number; most: number }>(selectConnections)
    const found = [
      ...open.rows.map((each) => finding('sessions', 'snapshot_held', describeOpen(each), endOf(each))),
      ...waiting.rows.map(describeWaiting),
      ...connections.rows.flatMap(describeConnections),
    ]
    const [{ used, most } = { used: 0, most: 0 }] = connections.rows
    return found.length > 0
      ? found
      : [fine('sessions', `none blocks others; ${used} of ${most} connections are in use`)]
  })
}

function describeOpen({ pid, login, application, state, open_s, open_xids, prepared }: Open): string {
  const age = open_s === null ? `${open_xids} transactions` : `${Math.round(open_s)} s`
  if (prepared !== null) return `the prepared transaction ${prepared} of ${login} has been open for ${age}`
  return `pid ${pid} (${application || 'no application name'}, login ${login}) has had a transaction open for ${age}${
    state === null ? '' : `, ${state}`
  }`
}

function endOf({ pid, prepared }: Open): string {
  return prepared === null
    ? `SELECT pg_terminate_backend(${pid})`
    : `COMMIT or ROLLBACK PREPARED '${prepared}'`
}

function describeWaiting({ pid, application, table, waiting_s, held_by }: Waiting): Finding {
  const what = table === null ? 'a row or a transaction' : table
  return finding(
    'sessions',
    'lock_waited_for',
    `pid ${pid} (${application || 'no application name'}) has waited ${Math.round(waiting_s)} s for a lock on ${what}, held by pid ${held_by.join(', ')}`,
    held_by.map((holder) => `SELECT pg_terminate_backend(${holder})`).join('; '),
  )
}

function describeConnections({ of, used, most }: { of: string; used: number; most: number }): Finding[] {
  if (used < most * NEARLY) return []
  const code = used >= most ? 'connections_exhausted' : 'connections_nearly_exhausted'
  return [finding('sessions', code, `${used} of ${most} connections of ${of} are in use`)]
}
