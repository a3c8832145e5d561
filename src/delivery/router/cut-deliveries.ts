import type { RoutableEvent } from './make-sagas.js'

/** A row of the queue with those that its events go to. */
export interface RoutableRow {
  id: string
  events: readonly RoutableEvent[]
}

/** How far a row is routed that takes several transactions. */
export interface Place {
  /** So many events from the first on are done. */
  routedEvents: number
  /** Of the next one, the deliveries to subscriptions up to this one are made. */
  lastSubscriptionId: string
}

/**
 * Of the rows that were taken, oldest first: those there is room for in one transaction, and those that are too large for
 * any. The others stay in the queue.
 */
export function cutDeliveries(
  rows: readonly RoutableRow[],
  deliveriesMax: number,
): { batch: RoutableRow[]; large: RoutableRow[]; isCut: boolean } {
  const isLarge = (row: RoutableRow) => countDeliveries(row) > deliveriesMax
  let deliveries = 0
  const small = rows.filter((row) => !isLarge(row))
  const batch = small.filter((row) => {
    deliveries += countDeliveries(row)
    return deliveries <= deliveriesMax
  })
  return { batch, large: rows.filter(isLarge), isCut: batch.length < small.length }
}

const countDeliveries = ({ events }: RoutableRow) =>
  events.reduce((sum, { subscriptions }) => sum + subscriptions.length, 0)

/** The next deliveries of a row, event by event, and of each in the order of its subscriptions' ids. */
export function cutPiece(
  events: readonly RoutableEvent[],
  { routedEvents, lastSubscriptionId }: Place,
  deliveriesMax: number,
): { piece: RoutableEvent[]; isLastCut: boolean } {
  const piece: RoutableEvent[] = []
  let room = deliveriesMax
  let isLastCut = false
  for (const event of events.slice(routedEvents)) {
    if (room === 0) break
    const isBegun = piece.length === 0
    const left = isBegun ? idsAfter(event.subscriptions, lastSubscriptionId) : event.subscriptions
    const subscriptions = left.slice(0, room)
    piece.push({ ...event, subscriptions })
    room -= subscriptions.length
    isLastCut = subscriptions.length < left.length
  }
  return { piece, isLastCut }
}

const idsAfter = (ids: readonly string[], last: string) => ids.filter((id) => BigInt(id) > BigInt(last))
