import type pg from 'pg'

// [J12] Jobs that were not sent go back as they were: claimable at once, behind the others, no lost lease counted. Status and
// keys: see report-results.ts.
export const release = `
  UPDATE sagapost.webhook_delivery_jobs AS job SET status = 'Pending', lease_until = sagapost.now()
  FROM unnest($1::bigint[], $2::bigint[], $3::uuid[]) AS held (id, event_id, token)
  WHERE job.id = ANY (ARRAY[held.id]) AND job.event_id = ANY (ARRAY[held.event_id])
    AND job.lease_token = held.token AND job.status::text = 'Leased'`

export async function releaseJobs(
  pool: pg.Pool,
  jobs: readonly { id: string; eventId: string; leaseToken: string }[],
): Promise<void> {
  if (jobs.length === 0) return
  await pool.query(release, [
    jobs.map(({ id }) => id),
    jobs.map(({ eventId }) => eventId),
    jobs.map(({ leaseToken }) => leaseToken),
  ])
}
