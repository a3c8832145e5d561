import type pg from 'pg'
import { SagapostError } from '../errors/index.js'
import { isSubscriptionId, type Subscription, type SubscriptionRow, toSubscription } from './subscription.js'
import { validateEventType } from './validate-subscription.js'

const PAGE_ROWS_DEFAULT = 50
const PAGE_ROWS_MAX = 200

/**
 * Newest first. The statement is planned with its values (it has no name), so that an absent filter costs
 * nothing: the primary key backwards from the cursor, or idx_sub_event_type or idx_sub_active with a sort when
 * few rows match.
 */
export const selectSubscriptions = `
  SELECT id, event_type, callback_url, active, verified, max_attempts, headers, created_at, updated_at, deleted_at,
         deactivation_reason
  FROM sagapost.subscriptions
  WHERE ($1::bigint IS NULL OR id < $1)
    AND ($2::text IS NULL OR event_type = $2)
    AND ($3::boolean IS NULL OR active = $3)
    AND ($4::boolean IS NULL OR (deleted_at IS NOT NULL) = $4)
  ORDER BY id DESC
  LIMIT $5`

export interface SubscriptionFilter {
  eventType?: string | undefined
  active?: boolean | undefined
  /** Absent: deleted ones are listed among the others, with their `deletedAt`. */
  deleted?: boolean | undefined
  /** `nextCursor` of the page before. */
  cursor?: string | undefined
  limit?: number | undefined
}

export interface SubscriptionPage {
  data: Subscription[]
  nextCursor: string | null
}

/** A page of subscriptions. The cursor is the last id seen, so pages neither repeat nor skip while others change. */
export async function listSubscriptions(
  pool: pg.Pool,
  { eventType, active, deleted, cursor, limit = PAGE_ROWS_DEFAULT }: SubscriptionFilter = {},
): Promise<SubscriptionPage> {
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_ROWS_MAX) {
    throw new SagapostError('subscription_invalid', `limit must be a whole number from 1 to ${PAGE_ROWS_MAX}`)
  }
  if (cursor !== undefined && !isSubscriptionId(cursor)) {
    throw new SagapostError('subscription_invalid', 'cursor must be the nextCursor of the page before')
  }
  if (eventType !== undefined) validateEventType(eventType)
  // One row more than asked for tells whether there is another page.
  const { rows } = await pool.query<SubscriptionRow>(selectSubscriptions, [
    cursor ?? null,
    eventType ?? null,
    active ?? null,
    deleted ?? null,
    limit + 1,
  ])
  const data = rows.slice(0, limit).map(toSubscription)
  return { data, nextCursor: rows.length > limit ? (data.at(-1)?.id ?? null) : null }
}
