import type pg from 'pg'
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
 * send at once. A worker that is not on the list, because it was forgotten, shows by its leases.
 */
export const selectProcesses = `
  WITH held AS (
    SELECT worker_id, count(*)::int AS leases,
           count(*) FILTER (WHERE lease_until < sagapost.now())::int AS leases_expired, min(lease_until) AS lease_until
    FROM (SELECT worker_id, lease_until FROM sagapost.webhook_delivery_jobs WHERE status = 'Leased'
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
  const { rows } = await pool.query(selectProcesses, [LOST_AFTER_MS, LEASES_COUNTED_MAX])
  return rows.map((row) => ({
    id: row.id,
    hostname: row.hostname,
    pid: row.pid,
    version: row.version,
    parts: row.parts,
    startedAt: row.started_at,
    seenAt: row.seen_at,
    lost: row.lost,
    leases: row.leases,
    leasesExpired: row.leases_expired,
    leaseUntil: row.lease_until,
  }))
}
