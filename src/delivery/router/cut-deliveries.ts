import type { RoutableEvent } from './make-sagas.js'

/** A row of the queue with the subscriptions that its events go to. */
export interface RoutableRow {
  id: string
  events: readonly RoutableEvent[]
}

/** Progress of a row whose routing takes several transactions. */
export interface Place {
  /** This many events from the start are routed. */
  routedEvents: number
  /** In the next event, the deliveries to subscriptions up to this id exist. */
  lastSubscriptionId: string
}

/**
 * Splits the rows taken, oldest first, into those that fit into one transaction and those too large for any. The rest
 * stay in the queue.
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

/** The next deliveries of a row, event by event, each in the order of subscription ids. */
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
