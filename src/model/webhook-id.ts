/**
 * SQL: when the row that a statement calls `event` was created, in microseconds since 1970. As a double, which is exact
 * until 2106: `extract` makes a numeric at twice the cost, and a JavaScript Date has milliseconds only.
 */
export const eventTimeUs = `round(date_part('epoch', event.created_at) * 1e6)`

/**
 * The id that receivers drop repeated requests by. Event ids come back when a restore or a failover sets their sequence
 * back, and the times of events do not: both together belong to one event.
 */
export function webhookIdOf(eventId: string, createdAtUs: number): string {
  return `evt_${eventId}_${createdAtUs.toString(36)}`
}

/** The event id in a webhook id, whole or without the time; null when the text is something else. */
export function eventIdIn(webhookId: string): string | null {
  return /^evt_([1-9]\d{0,18})(?:_[0-9a-z]+)?$/.exec(webhookId)?.[1] ?? null
}
