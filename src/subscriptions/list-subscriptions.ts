import type pg from 'pg'
import { type Page, type PageRequest, readIdCursor, rowsToRead, toPage } from '../database/index.js'
import { type Subscription, type SubscriptionRow, toSubscription } from './subscription.js'
import { validateEventType } from './validate-subscription.js'

/**
 * Newest first: the primary key backwards from the cursor, or idx_sub_event_type or idx_sub_active with a sort when few
 * rows match. Planned with its values, breakers as an array: docs/internals/hot-statements.md#filters-as-arrays.
 */
export const selectSubscriptions = `
  SELECT id, event_type, callback_url, active, verified, max_attempts, headers, created_at, updated_at, deleted_at,
         deactivation_reason
  FROM sagapost.subscriptions
  WHERE ($1::bigint IS NULL OR id < $1)
    AND ($2::text IS NULL OR event_type = $2)
    AND ($3::boolean IS NULL OR active = $3)
    AND ($4::boolean IS NULL OR (deleted_at IS NOT NULL) = $4)
    AND ($5::boolean IS NOT TRUE OR id = ANY (ARRAY(SELECT subscription_id FROM sagapost.subscription_breakers)))
    AND ($5::boolean IS NOT FALSE OR id <> ALL (ARRAY(SELECT subscription_id FROM sagapost.subscription_breakers)))
  ORDER BY id DESC
  LIMIT $6`

export interface SubscriptionFilter extends PageRequest {
  eventType?: string | undefined
  active?: boolean | undefined
  /** When absent, deleted subscriptions are listed among the others, with their `deletedAt`. */
  deleted?: boolean | undefined
  /** Whether the last attempt failed. */
  failing?: boolean | undefined
}

/**
 * A page of subscriptions. The cursor is the last id seen, so pages neither repeat nor skip rows while others change.
 */
export async function listSubscriptions(
  pool: pg.Pool,
  { eventType, active, deleted, failing, cursor, limit }: SubscriptionFilter = {},
): Promise<Page<Subscription>> {
  const rowsMax = rowsToRead(limit)
  const before = readIdCursor(cursor)
  if (eventType !== undefined) validateEventType(eventType)
  const { rows } = await pool.query<SubscriptionRow>(selectSubscriptions, [
    before,
    eventType ?? null,
    active ?? null,
    deleted ?? null,
    failing ?? null,
    rowsMax,
  ])
  return toPage(rows, rowsMax, toSubscription, ({ id }) => ({ id }))
}
