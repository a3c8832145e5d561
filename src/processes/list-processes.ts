import type pg from 'pg'
import { readEveryRange } from '../database/index.js'
import { LOST_AFTER_MS } from './keep-registered.js'

export interface RunningProcess {
  id: string
  hostname: string
  pid: number
  version: string
  parts: string[]
  /** Null: it was forgotten, and still holds a lease. */
  startedAt: Date | null
  seenAt: Date | null
  /** It has not been heard of for a while. */
  lost: boolean
  /** Jobs that its worker holds now, how many of their leases have run out, and the first end of the others. */
  leases: number
  leasesExpired: number
  leaseUntil: Date | null
}

/**
 * The whole of a small table; the jobs that are being sent by idx_job_status_lease, which are as many as all workers
 * send at once: a row for each range that it holds leases in. A worker that is not on the list, because it was forgotten, shows by its leases.
 */
export const selectProcesses = `
  WITH held AS (
    SELECT worker_id, count(*)::int AS leases,
           count(*) FILTER (WHERE lease_until < sagapost.now())::int AS leases_expired, min(lease_until) AS lease_until
    FROM (SELECT worker_id, lease_until FROM sagapost.webhook_delivery_jobs WHERE status = 'Leased' /* range of event_id */
          ORDER BY lease_until LIMIT $2) AS job
    GROUP BY worker_id
  )
  SELECT coalesce(process.id, held.worker_id) AS id, coalesce(hostname, '') AS hostname, coalesce(pid, 0) AS pid,
         coalesce(version, '') AS version, coalesce(parts, '{worker}') AS parts, started_at, seen_at,
         seen_at IS NULL OR seen_at < sagapost.now() - $1 * interval '1 millisecond' AS lost,
         coalesce(leases, 0) AS leases, coalesce(leases_expired, 0) AS leases_expired, lease_until
  FROM sagapost.processes AS process FULL JOIN held ON held.worker_id = process.id
  ORDER BY started_at NULLS FIRST, id`

const LEASES_COUNTED_MAX = 10_000

/** Under the role saga_readonly_role. */
export async function listProcesses(pool: pg.Pool): Promise<RunningProcess[]> {
  const rows = await readEveryRange(pool, selectProcesses, [LOST_AFTER_MS, LEASES_COUNTED_MAX])
  const processes = new Map<string, RunningProcess>()
  for (const row of rows) {
    const known = processes.get(row['id'])
    processes.set(row['id'], known ? addLeases(known, toProcess(row)) : toProcess(row))
  }
  return [...processes.values()].sort(byStart)
}

function toProcess(row: pg.QueryResultRow): RunningProcess {
  return {
    id: row['id'],
    hostname: row['hostname'],
    pid: row['pid'],
    version: row['version'],
    parts: row['parts'],
    startedAt: row['started_at'],
    seenAt: row['seen_at'],
    lost: row['lost'],
    leases: row['leases'],
    leasesExpired: row['leases_expired'],
    leaseUntil: row['lease_until'],
  }
}

/** Of one process, what it holds in two ranges. */
function addLeases(known: RunningProcess, more: RunningProcess): RunningProcess {
  const ends = [known.leaseUntil, more.leaseUntil].filter((end) => end !== null)
  return {
    ...known,
    leases: known.leases + more.leases,
    leasesExpired: known.leasesExpired + more.leasesExpired,
    leaseUntil: ends.sort((one, other) => one.getTime() - other.getTime())[0] ?? null,
  }
}

/** As the statement orders them; those that were forgotten come first. */
const byStart = (one: RunningProcess, other: RunningProcess) =>
  (one.startedAt?.getTime() ?? 0) - (other.startedAt?.getTime() ?? 0)
