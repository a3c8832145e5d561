import type pg from 'pg'
import { type EventRange, inRange } from '../../database/index.js'
import type { JobReport } from './report-results.js'

// By webhook_delivery_jobs_pkey (docs/internals/hot-statements.md: keys as arrays, status as text). A result under this
// token is the worker's own, except what the cleaner writes.
export const selectReported = `
  SELECT job.id FROM unnest($3::bigint[], $4::bigint[], $5::uuid[]) AS result (id, event_id, token)
  JOIN sagapost.webhook_delivery_jobs AS job
    ON job.id = ANY (ARRAY[result.id]) AND job.event_id = ANY (ARRAY[result.event_id])
    AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)
  WHERE job.lease_token = result.token AND job.status::text IN ('Completed', 'Failed')
    AND job.error_code IS DISTINCT FROM 'lease_expired'`

/** The ids of the jobs whose report was accepted earlier: the answer was lost, and the worker reported again. */
export async function findReported(
  pool: pg.Pool,
  range: EventRange,
  reports: readonly JobReport[],
): Promise<Set<string>> {
  const { rows } = await pool.query<{ id: string }>(inRange(selectReported, range), [
    range.from,
    range.to,
    reports.map(({ jobId }) => jobId),
    reports.map(({ eventId }) => eventId),
    reports.map(({ leaseToken }) => leaseToken),
  ])
  return new Set(rows.map(({ id }) => id))
}
