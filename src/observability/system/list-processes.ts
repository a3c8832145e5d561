import type pg from 'pg'
import { readEventSpans } from '../../database/index.js'
import { LOST_AFTER_MS } from './registration.js'

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

// The whole of a small table.
const selectProcesses = `
  SELECT id, hostname, pid, version, parts, started_at AS "startedAt", seen_at AS "seenAt",
         seen_at < sagapost.now() - $1 * interval '1 millisecond' AS lost
  FROM sagapost.processes ORDER BY started_at, id`

/**
 * The jobs that are being sent, by idx_job_status_lease: as many as all workers send at once. In each span of partitions
 * ($2, $3).
 */
export const selectLeases = `
  SELECT worker_id AS id, count(*)::int AS leases,
         count(*) FILTER (WHERE lease_until < sagapost.now())::int AS "leasesExpired", min(lease_until) AS "leaseUntil"
  FROM (SELECT worker_id, lease_until FROM sagapost.webhook_delivery_jobs
        WHERE event_id >= $2 AND event_id < $3 AND status = 'Leased' ORDER BY lease_until LIMIT $1) AS job
  GROUP BY worker_id`

/** In each span. */
const LEASES_COUNTED_MAX = 10_000

type Leases = Pick<RunningProcess, 'id' | 'leases' | 'leasesExpired' | 'leaseUntil'>
type Registered = Omit<RunningProcess, keyof Leases> & { id: string }

/** Under the role saga_readonly_role. A worker that was forgotten shows by its leases. */
export async function listProcesses(pool: pg.Pool): Promise<RunningProcess[]> {
  const held = await readLeases(pool)
  const { rows } = await pool.query<Registered>(selectProcesses, [LOST_AFTER_MS])
  const registered = new Set(rows.map(({ id }) => id))
  const forgotten = [...held.keys()].filter((id) => !registered.has(id)).sort()
  return [
    ...forgotten.map((id) => ({ ...nothingKnown, ...leasesOf(id, held) })),
    ...rows.map((row) => ({ ...row, ...leasesOf(row.id, held) })),
  ]
}

const nothingKnown = {
  ...{ hostname: '', pid: 0, version: '', parts: ['worker'] },
  ...{ startedAt: null, seenAt: null, lost: true },
}

const leasesOf = (id: string, held: ReadonlyMap<string, Leases>): Leases =>
  held.get(id) ?? { id, leases: 0, leasesExpired: 0, leaseUntil: null }

async function readLeases(pool: pg.Pool): Promise<Map<string, Leases>> {
  const held = new Map<string, Leases>()
  for (const { from, to } of await readEventSpans(pool)) {
    const { rows } = await pool.query<Leases>(selectLeases, [LEASES_COUNTED_MAX, from, to])
    for (const found of rows) held.set(found.id, addLeases(found, held.get(found.id)))
  }
  return held
}

function addLeases(found: Leases, before: Leases | undefined): Leases {
  if (!before) return found
  const ends = [found.leaseUntil, before.leaseUntil].filter((end) => end !== null)
  return {
    id: found.id,
    leases: found.leases + before.leases,
    leasesExpired: found.leasesExpired + before.leasesExpired,
    leaseUntil: new Date(Math.min(...ends.map(Number))),
  }
}
