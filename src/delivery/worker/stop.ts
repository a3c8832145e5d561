/** Why a job is not sent: `held` while its subscription is inactive; otherwise the error that it fails with. */
export type Stop = 'held' | 'subscription_deleted' | 'cancelled'

/**
 * The stop as of the snapshot of the statement that takes the job: no job starts that was switched off, deleted or
 * cancelled before. The cancellation table is mostly empty, so one look answers for all rows.
 */
export const stopOf = (job: string, subscription: string) => `
  CASE WHEN ${subscription}.deleted_at IS NOT NULL THEN 'subscription_deleted'
       WHEN (SELECT EXISTS (SELECT FROM sagapost.delivery_cancellations))
         AND EXISTS (SELECT FROM sagapost.delivery_cancellations WHERE saga_id = ANY (ARRAY[${job}.saga_id])) THEN 'cancelled'
       WHEN NOT ${subscription}.active THEN 'held' END`
