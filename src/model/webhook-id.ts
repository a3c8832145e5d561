/**
 * SQL: when the row that a statement calls `event` was created, in microseconds since 1970, as a double that is exact until
 * 2106: docs/internals/hot-statements.md#times-as-numbers. A JavaScript Date has milliseconds only.
 */
export const eventTimeUs = `round(date_part('epoch', event.created_at) * 1e6)`

/**
 * The id by which receivers detect repeated requests. A restore or a failover may reset the sequence of event ids, so
 * that ids recur; id and creation time together identify one event.
 */
export function webhookIdOf(eventId: string, createdAtUs: number): string {
  return `evt_${eventId}_${createdAtUs.toString(36)}`
}

/** The event id in a webhook id, which may lack the time; null for any other text. */
export function eventIdIn(webhookId: string): string | null {
  return /^evt_([1-9]\d{0,18})(?:_[0-9a-z]+)?$/.exec(webhookId)?.[1] ?? null
}
