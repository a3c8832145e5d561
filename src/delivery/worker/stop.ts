/** Why a job is not sent: its subscription is inactive, and it is held; or this is the error that it fails with. */
export type Stop = 'held' | 'subscription_deleted' | 'cancelled'

/**
 * What the rows say about that, in the snapshot of the statement that takes the job: what was switched off, deleted or
 * cancelled before is not begun. The table is empty but for what is being cancelled: one look tells that for all rows.
 */
export const stopOf = (job: string, subscription: string) => `
  CASE WHEN ${subscription}.deleted_at IS NOT NULL THEN 'subscription_deleted'
       WHEN (SELECT EXISTS (SELECT FROM sagapost.delivery_cancellations))
         AND EXISTS (SELECT FROM sagapost.delivery_cancellations WHERE saga_id = ANY (ARRAY[${job}.saga_id])) THEN 'cancelled'
       WHEN NOT ${subscription}.active THEN 'held' END`
