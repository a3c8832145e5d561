import type pg from 'pg'
import { inTransaction } from '../database/index.js'
import { type Finding, finding, fine } from './finding.js'

const OPEN_S_MAX = 300
/** For sessions of other logins, whose times only a member of pg_read_all_stats sees. */
const OPEN_XIDS_MAX = 100_000
const LOCK_S_MAX = 60
const NEARLY = 0.9
const NAMED_MAX = 10
/** What pg_blocking_pids() has for a prepared transaction. */
const NO_PROCESS = 0
const FIND_PREPARED =
  'SELECT gid, prepared, owner, database FROM pg_prepared_xacts, then COMMIT PREPARED or ROLLBACK PREPARED the one that holds the lock'

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
  SELECT NULL, owner, NULL, 'prepared', extract(epoch FROM $1::timestamptz - prepared)::float8, age(transaction), pg_catalog.quote_literal(gid)
  FROM pg_catalog.pg_prepared_xacts
  WHERE database = pg_catalog.current_database() AND prepared < $1::timestamptz - $2 * interval '1 second'
  ORDER BY open_s DESC NULLS LAST, open_xids DESC
  LIMIT $4`

// Waiters for a table of ours, or of ours for any: of rows and transactions, no table is known. A prepared transaction has
// no process: it is 0 among those that block, holds its locks
// without a pid, and has a lock on its own id.
const selectWaiting = `
  SELECT waiter.pid, session.application_name AS application, pg_class.relname AS table,
         extract(epoch FROM $1::timestamptz - waiter.waitstart)::float8 AS waiting_s,
         pg_catalog.pg_blocking_pids(waiter.pid) AS held_by,
         ARRAY(
           SELECT DISTINCT pg_catalog.quote_literal(gid)
           FROM pg_catalog.pg_locks AS held
           JOIN pg_catalog.pg_locks AS own ON own.pid IS NULL AND own.virtualtransaction = held.virtualtransaction
             AND own.locktype = 'transactionid' AND own.granted
           JOIN pg_catalog.pg_prepared_xacts ON transaction = own.transactionid
           WHERE held.pid IS NULL AND held.granted AND held.locktype = waiter.locktype
             AND (held.database, held.relation, held.page, held.tuple, held.transactionid, held.classid, held.objid, held.objsubid)
               IS NOT DISTINCT FROM
               (waiter.database, waiter.relation, waiter.page, waiter.tuple, waiter.transactionid, waiter.classid, waiter.objid, waiter.objsubid)
           ORDER BY 1) AS prepared
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
  /** Its gid, quoted for SQL. */
  prepared: string | null
}

interface Waiting {
  pid: number
  application: string
  table: string | null
  waiting_s: number
  held_by: number[]
  /** The gids, quoted for SQL, of prepared transactions with a lock on the same: perhaps one that lets the waiter pass. */
  prepared: string[]
}

/** Sessions that block others. As the login itself, which sees the times of its own sessions. */
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
  return prepared === null ? `SELECT pg_terminate_backend(${pid})` : endPrepared(prepared)
}

function endPrepared(gid: string): string {
  return `COMMIT PREPARED ${gid} or ROLLBACK PREPARED ${gid}`
}

function describeWaiting(waiting: Waiting): Finding {
  const { pid, application, table, waiting_s } = waiting
  const what = table === null ? 'a row or a transaction' : table
  const holders = holdersOf(waiting)
  return finding(
    'sessions',
    'lock_waited_for',
    `pid ${pid} (${application || 'no application name'}) has waited ${Math.round(waiting_s)} s for a lock on ${what}, held by ${holders.map(({ name }) => name).join(', ')}`,
    holders.map(({ end }) => end).join('; '),
  )
}

/** A prepared transaction is named where it is certain which one holds the lock: to end another one loses its work. */
function holdersOf({ held_by, prepared }: Waiting): { name: string; end: string }[] {
  const pids = [...new Set(held_by.filter((pid) => pid !== NO_PROCESS))]
  const sessions = pids.map((pid) => ({ name: `pid ${pid}`, end: `SELECT pg_terminate_backend(${pid})` }))
  const preparedCount = held_by.length - held_by.filter((pid) => pid !== NO_PROCESS).length
  if (preparedCount === 0) return sessions
  if (preparedCount !== prepared.length)
    return [...sessions, { name: 'a prepared transaction', end: FIND_PREPARED }]
  return [
    ...sessions,
    ...prepared.map((gid) => ({ name: `the prepared transaction ${gid}`, end: endPrepared(gid) })),
  ]
}

function describeConnections({ of, used, most }: { of: string; used: number; most: number }): Finding[] {
  if (used < most * NEARLY) return []
  const code = used >= most ? 'connections_exhausted' : 'connections_nearly_exhausted'
  return [finding('sessions', code, `${used} of ${most} connections of ${of} are in use`)]
}
