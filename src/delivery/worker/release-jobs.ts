import type pg from 'pg'
import { groupByRange, inRange, type WorkWindow } from '../../database/index.js'

// [J12] Jobs that were not sent go back as they were: claimable at once, behind the others, no lost lease counted. Status and
// keys: see report-results.ts.
export const release = `
  UPDATE sagapost.webhook_delivery_jobs AS job SET status = 'Pending', lease_until = sagapost.now()
  FROM unnest($3::bigint[], $4::bigint[], $5::uuid[]) AS held (id, event_id, token)
  WHERE job.id = ANY (ARRAY[held.id]) AND job.event_id = ANY (ARRAY[held.event_id])
    AND job.lease_token = held.token AND job.status::text = 'Leased'
    AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)`

export async function releaseJobs(
  pool: pg.Pool,
  jobs: readonly { id: string; eventId: string; leaseToken: string }[],
  window: () => WorkWindow,
): Promise<void> {
  for (const { range, items } of groupByRange(window(), jobs, ({ eventId }) => eventId)) {
    await pool.query(inRange(release, range), [
      range.from,
      range.to,
      items.map(({ id }) => id),
      items.map(({ eventId }) => eventId),
      items.map(({ leaseToken }) => leaseToken),
    ])
  }
}
