import { deliveryName, type Model, type QueueRow } from './model.js'
import { get, nothing, type Plan } from './plan.js'
import { addDelivery, type Later } from './rules.js'
import { type Limits, largeRow, moveToBack, removeRows, rowLock, takeRows } from './take-rows.js'

type Pair = [event: string, subscription: string]

/**
 * [R1, R2, R3, U5] The oldest events that nobody else has get a delivery for each subscription of their type that is active
 * and verified, unless they have it, and leave the queue: so many rows as make no more than `room` deliveries. A row that
 * alone makes more goes to the back.
 */
export const planRoute =
  (limits: Limits, room: number, later: Later = {}): Plan =>
  (model, look) => {
    const { held, batch: taken, more } = takeRows(model, look, 'unrouted', limits)
    const atStart = later.reads ? undefined : cutRows(model, taken, room)
    const { nowMs } = model
    const { orders } = look
    return {
      locks: [
        ...held.map((row) => rowLock('unrouted', row)),
        ...(later.writes ? [] : eventsOf(atStart?.batch ?? taken).map((event) => `event ${event}`)),
      ],
      commit(at, then) {
        const { batch, large, isCut } = atStart ?? cutRows(at, taken, room)
        const pairs = atStart?.pairs ?? pairsOf(at, eventsOf(batch))
        const missing = missingOf(at, pairs)
        // An event that was routed before is found out when the deliveries are made, and all is done anew.
        if (later.writes && missing.length < pairs.length) {
          return planRoute(limits, room)(at, then).commit(at, then)
        }
        moveToBack(at, large, orders)
        removeRows(at, 'unrouted', batch)
        for (const pair of missing) addDelivery(at, ...pair, 0, later.writes ? at.nowMs : nowMs)
        return {
          events: eventsOf(batch).length,
          deliveries: missing.length,
          more: more || isCut,
          large: large.length,
        }
      },
    }
  }

/**
 * [R1, R5] The oldest row at the back that nobody else has gets its next `room` deliveries, event by event and of each in
 * the order of the subscriptions, and leaves the queue with the last of them.
 */
export const planSpread =
  (room: number, later: Later = {}): Plan =>
  (model) => {
    const row = largeRow(model)
    if (!row) return nothing({ events: null, deliveries: null })
    const atStart = later.reads ? undefined : cutPiece(model, row, room)
    const { nowMs } = model
    return {
      locks: [
        rowLock('unrouted', row),
        ...(later.writes ? [] : row.entries.map((event) => `event ${event}`)),
      ],
      commit(at, then) {
        const { pairs, place, done } = atStart ?? cutPiece(at, row, room)
        const missing = missingOf(at, pairs)
        if (later.writes && missing.length < pairs.length) return planSpread(room)(at, then).commit(at, then)
        removeRows(at, 'unrouted', [row])
        if (place.routed < place.order.length) at.unrouted.push({ ...row, place })
        for (const pair of missing) addDelivery(at, ...pair, 0, later.writes ? at.nowMs : nowMs)
        return { events: done, deliveries: missing.length }
      },
    }
  }

const eventsOf = (rows: readonly QueueRow[]) => rows.flatMap(({ entries }) => entries)

function cutRows(model: Model, rows: readonly QueueRow[], room: number) {
  const sizeOf = (row: QueueRow) => pairsOf(model, row.entries).length
  const large = rows.filter((row) => sizeOf(row) > room)
  const small = rows.filter((row) => sizeOf(row) <= room)
  let fitting = 0
  for (let left = room; fitting < small.length; fitting++) {
    left -= sizeOf(small[fitting] as QueueRow)
    if (left < 0) break
  }
  const batch = small.slice(0, fitting)
  return { batch, large, isCut: fitting < small.length, pairs: pairsOf(model, eventsOf(batch)) }
}

function cutPiece(model: Model, { place }: QueueRow, room: number) {
  if (!place) throw new Error('the row is taken whole')
  const names = [...model.subscriptions.keys()]
  const { order, routed, last } = place
  const all = order
    .slice(routed)
    .map((event, index) =>
      pairsOf(model, [event]).filter(
        ([, subscription]) => index > 0 || last === null || names.indexOf(subscription) > names.indexOf(last),
      ),
    )
  const pairs = all.flat().slice(0, room)
  let left = room
  let done = 0
  // What comes after the last delivery there was room for is for the next transaction, though it may be nothing.
  for (; done < all.length && left > 0; done++) {
    left -= all[done]?.length ?? 0
    if (left < 0) break
  }
  const isBegun = left < 0
  return {
    pairs,
    done,
    place: { order, routed: routed + done, last: isBegun ? (pairs.at(-1)?.[1] ?? null) : null },
  }
}

function missingOf(model: Model, pairs: readonly Pair[]): Pair[] {
  const wanted = new Map(pairs.map((pair) => [deliveryName(...pair, 0), pair]))
  return [...wanted].filter(([name]) => !model.deliveries.has(name)).map(([, pair]) => pair)
}

/** Of each event, in the order in which they were subscribed. */
function pairsOf(model: Model, events: readonly string[]): Pair[] {
  return events.flatMap((event) =>
    [...model.subscriptions]
      .filter(
        ([, { type, active, verified }]) => active && verified && type === get(model.events, event).type,
      )
      .map(([subscription]): Pair => [event, subscription]),
  )
}
