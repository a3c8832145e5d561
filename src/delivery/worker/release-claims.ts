import type pg from 'pg'
import { type EventRange, inRange } from '../../database/index.js'

// By the entries of Leased jobs in idx_job_status_lease: as many as all workers hold. No other worker has the token, so
// nothing is taken from anybody; a job that was claimed anew meanwhile has another one.
export const releaseLeased = `
  UPDATE sagapost.webhook_delivery_jobs AS job SET status = 'Pending', lease_until = sagapost.now()
  WHERE status = 'Leased' AND event_id >= $1 AND event_id < $2 AND lease_token = ANY ($3::uuid[])
  RETURNING lease_token`

/** Releases all jobs leased under these tokens, under the role job_worker; returns each job's token. */
export async function releaseClaims(
  pool: pg.Pool,
  range: EventRange,
  leaseTokens: readonly string[],
): Promise<string[]> {
  const { rows } = await pool.query<{ lease_token: string }>(inRange(releaseLeased, range), [
    range.from,
    range.to,
    leaseTokens,
  ])
  return rows.map(({ lease_token }) => lease_token)
}
