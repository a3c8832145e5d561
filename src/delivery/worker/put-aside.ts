import type pg from 'pg'
import { groupByRange, inRange, type WorkWindow } from '../../database/index.js'
import type { Stop } from './stop.js'

/** A job leased by this worker. */
export interface TakenJob {
  id: string
  deliveryId: string
  eventId: string
  subscriptionId: string
  leaseToken: string
  /** Null when the job becomes free at once. */
  stop: Stop | null
}

// [J5, J12] What is held is Pending until a time that never comes, what is ended is Failed, and nothing was sent.
// docs/internals/hot-statements.md: keys as arrays, status as text.
const settle = `
  UPDATE sagapost.webhook_delivery_jobs AS job
  SET status = (CASE WHEN taken.stop IS NULL OR taken.stop = 'held' THEN 'Pending' ELSE 'Failed' END)::sagapost.job_status,
      lease_until = CASE WHEN taken.stop IS NULL THEN sagapost.now()
                         WHEN taken.stop = 'held' THEN sagapost.held_until(job.subscription_id)
                         ELSE job.lease_until END,
      error_code = nullif(taken.stop, 'held'),
      duration_ms = CASE WHEN taken.stop <> 'held' THEN 0 END,
      finished_at = CASE WHEN taken.stop <> 'held' THEN sagapost.now() END
  FROM unnest($3::bigint[], $4::bigint[], $5::uuid[], $6::text[]) AS taken (id, event_id, token, stop)
  WHERE job.id = ANY (ARRAY[taken.id]) AND job.event_id = ANY (ARRAY[taken.event_id])
    AND job.lease_token = taken.token AND job.status::text = 'Leased'
    AND (job.event_id >= $1 OR job.event_id > $2) AND (job.event_id < $2 OR job.event_id <= $1)`

/**
 * Holds, ends or frees jobs without a request, under the role job_worker. Jobs whose lease was lost stay as they are.
 */
export async function putAside(
  database: Pick<pg.ClientBase, 'query'>,
  jobs: readonly TakenJob[],
  window: () => WorkWindow,
): Promise<void> {
  for (const { range, items } of groupByRange(window(), jobs, ({ eventId }) => eventId)) {
    await database.query(inRange(settle, range), [
      range.from,
      range.to,
      items.map(({ id }) => id),
      items.map(({ eventId }) => eventId),
      items.map(({ leaseToken }) => leaseToken),
      items.map(({ stop }) => stop),
    ])
  }
}
