import type pg from 'pg'
import { findInRanges, isRowId } from '../../database/index.js'
import { PAYLOAD_BYTES_READ_MAX } from '../../model/index.js'
import { readWebhookIds } from '../reading/index.js'
import { type DeadLetter, type DeadLetterRow, toDeadLetter } from './dead-letter.js'

/**
 * By dead_letters_pkey in every partition, since the id does not tell the event, range by range from the newest until
 * it is found; the requeued delivery by uniq_saga_requeued_from in the one partition where the letter was found.
 */
export const selectDeadLetter = `
  SELECT id, saga_id, event_id, subscription_id, event_type, final_error_code, failed_at, attempt_count, job_id,
         worker_id, lease_expiration, correlation_id,
         CASE WHEN pg_column_size(payload_snapshot) <= $2 AND octet_length(payload_snapshot::text) <= $2
              THEN payload_snapshot::text END AS payload_snapshot,
         (SELECT saga.id FROM sagapost.webhook_delivery_sagas AS saga
          WHERE saga.requeued_from = letter.id AND saga.event_id = letter.event_id /* range of saga.event_id */) AS requeued_as
  FROM sagapost.dead_letters AS letter
  WHERE id = $1 /* range of letter.event_id */`

export interface WholeDeadLetter extends DeadLetter {
  /** [D2] The JSON text of the event's payload, byte for byte. */
  payloadSnapshot: string
  /** The payload exceeds the limit of what Sagapost reads: the snapshot is kept, but `payloadSnapshot` is null. */
  payloadTooLarge?: boolean
}

/** One dead letter with its payload, or null when it does not exist. Under the role saga_readonly_role. */
export async function getDeadLetter(pool: pg.Pool, id: string): Promise<WholeDeadLetter | null> {
  if (!isRowId(id)) return null
  const [row] = await findInRanges<DeadLetterRow & { payload_snapshot: string | null }>(
    pool,
    selectDeadLetter,
    [id, PAYLOAD_BYTES_READ_MAX],
  )
  if (!row) return null
  const webhookIds = await readWebhookIds(pool, [row.event_id])
  return {
    ...toDeadLetter(row, webhookIds.get(row.event_id) ?? null),
    ...(row.payload_snapshot === null && { payloadTooLarge: true }),
    payloadSnapshot: row.payload_snapshot ?? 'null',
  }
}
