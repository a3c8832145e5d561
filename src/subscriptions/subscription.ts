/** [U1] A subscription as every operation returns it: no secret, no open challenge. */
export interface Subscription {
  id: string
  eventType: string
  callbackUrl: string
  active: boolean
  verified: boolean
  /** Null: the global default [S15]. */
  maxAttempts: number | null
  headers: Record<string, string>
  createdAt: Date
  updatedAt: Date
  /** Set: it never changes again, gets no new deliveries, and stays readable. */
  deletedAt: Date | null
  /** Why Sagapost itself switched it off (`http_410`). */
  deactivationReason: string | null
}

export interface SubscriptionRow {
  id: string
  event_type: string
  callback_url: string
  active: boolean
  verified: boolean
  max_attempts: number | null
  headers: Record<string, string>
  created_at: Date
  updated_at: Date
  deleted_at: Date | null
  deactivation_reason: string | null
}

export function toSubscription(row: SubscriptionRow): Subscription {
  return {
    id: row.id,
    eventType: row.event_type,
    callbackUrl: row.callback_url,
    active: row.active,
    verified: row.verified,
    maxAttempts: row.max_attempts,
    headers: row.headers,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    deletedAt: row.deleted_at,
    deactivationReason: row.deactivation_reason,
  }
}
