import type pg from 'pg'
import {
  byTime,
  isRowId,
  type Page,
  type PageRequest,
  readInRanges,
  readTimeCursor,
  rowsToRead,
  toPage,
} from '../../database/index.js'
import { readWebhookIds } from '../reading/index.js'
import { checkFilter, type DeadLetterMatch } from './check-filter.js'
import { type DeadLetter, type DeadLetterRow, toDeadLetter } from './dead-letter.js'

/**
 * Newest first by time, then id. One index for each filter has that order: idx_dead_subscription, idx_dead_error,
 * idx_dead_type, and idx_dead_failed for none; with several filters the first of them leads and the others are
 * checked row by row, or the planner sorts what it finds by a rarer one. See
 * docs/internals/hot-statements.md#filters-as-arrays.
 */
export const selectDeadLetters = `
  SELECT id, saga_id, event_id, subscription_id, event_type, final_error_code, failed_at, attempt_count, job_id,
         worker_id, lease_expiration, correlation_id, (extract(epoch FROM failed_at) * 1000000)::bigint AS at_us,
         (SELECT saga.id FROM sagapost.webhook_delivery_sagas AS saga
          WHERE saga.requeued_from = letter.id AND saga.event_id = letter.event_id /* range of saga.event_id */) AS requeued_as
  FROM sagapost.dead_letters AS letter
  WHERE ($1::bigint IS NULL
         OR (failed_at, id) < (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::bigint))
    AND ($3::bigint IS NULL OR subscription_id = ANY (ARRAY[$3]))
    AND ($4::text IS NULL OR final_error_code = ANY (ARRAY[$4]))
    AND ($5::text IS NULL OR event_type = ANY (ARRAY[$5]))
    AND ($6::timestamptz IS NULL OR failed_at >= $6)
    AND ($7::timestamptz IS NULL OR failed_at < $7)
    /* range of letter.event_id */
  ORDER BY CASE WHEN $3 IS NOT NULL THEN subscription_id END DESC,
           CASE WHEN $3 IS NULL AND $4 IS NOT NULL THEN final_error_code END DESC,
           CASE WHEN $3 IS NULL AND $4 IS NULL AND $5 IS NOT NULL THEN event_type END DESC,
           failed_at DESC, id DESC
  LIMIT $8`

export type DeadLetterFilter = PageRequest & DeadLetterMatch

/**
 * A page of dead letters without payloads, under the role saga_readonly_role. Dead letters never change, so pages are
 * stable.
 */
export async function listDeadLetters(
  pool: pg.Pool,
  { subscriptionId, eventType, errorCode, from, to, cursor, limit }: DeadLetterFilter = {},
): Promise<Page<DeadLetter>> {
  const rowsMax = rowsToRead(limit)
  const before = readTimeCursor(cursor)
  checkFilter({ eventType, errorCode, from, to })
  if (subscriptionId !== undefined && !isRowId(subscriptionId)) return { data: [], nextCursor: null }
  const rows = await readInRanges<DeadLetterRow & { at_us: string }>(
    pool,
    selectDeadLetters,
    [
      before.atUs,
      before.id,
      subscriptionId ?? null,
      errorCode ?? null,
      eventType ?? null,
      from ?? null,
      to ?? null,
      rowsMax,
    ],
    { order: byTime, limit: rowsMax },
  )
  const webhookIds = await readWebhookIds(
    pool,
    rows.map(({ event_id }) => event_id),
  )
  const toLetter = (row: DeadLetterRow) => toDeadLetter(row, webhookIds.get(row.event_id) ?? null)
  return toPage(rows, rowsMax, toLetter, (row) => ({ id: row.id, atUs: row.at_us }))
}
