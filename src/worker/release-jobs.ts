import type pg from 'pg'

// Jobs that were claimed and not begun go back as they were: claimable at once, no lost lease counted.
const release = `
  UPDATE sagapost.webhook_delivery_jobs AS job SET status = 'Pending', lease_until = sagapost.now()
  FROM unnest($1::bigint[], $2::bigint[], $3::uuid[]) AS held (id, event_id, token)
  WHERE job.id = held.id AND job.event_id = held.event_id AND job.lease_token = held.token AND job.status = 'Leased'`

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
