/** [U1] A subscription as every operation returns it: without its secret and any open challenge. */
export interface Subscription {
  id: string
  eventType: string
  callbackUrl: string
  active: boolean
  verified: boolean
  /** Null for the global default [S15]. */
  maxAttempts: number | null
  headers: Record<string, string>
  createdAt: Date
  updatedAt: Date
  /** Once set, the subscription never changes and gets no new deliveries; it stays readable. */
  deletedAt: Date | null
  /** Why Sagapost itself deactivated the subscription (`http_410`). */
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
