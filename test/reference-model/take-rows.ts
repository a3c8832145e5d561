import { isDeepStrictEqual } from 'node:util'
import type { Model, QueueRow } from './model.js'
import { Mismatch } from './plan.js'
import type { Look } from './read-state.js'

/** Rows of events that are not routed, and of results that are not counted. */
export type QueueName = 'unrouted' | 'unapplied'

export interface Limits {
  most: number
  /** Of another one of its kind that runs at the same moment, in a way that cannot be foreseen: as far as is seen. */
  asSeen?: boolean
}

interface Taken {
  /** In its hands until it commits, those that it has no room for included. */
  held: QueueRow[]
  batch: QueueRow[]
  /** It has not seen the end of the queue. */
  more: boolean
}

export const rowLock = (name: QueueName, { id }: QueueRow) => `${name} ${id}`

const inOrder = (rows: readonly QueueRow[]) => [...rows].sort((a, b) => (a.id < b.id ? -1 : +(a.id > b.id)))
const sizeOf = (rows: readonly QueueRow[]) => rows.reduce((sum, { entries }) => sum + entries.length, 0)
/** Those that are taken whole. */
const inFront = (model: Model, name: QueueName) => inOrder(model[name]).filter(({ place }) => !place)
const freeRows = (model: Model, name: QueueName) =>
  inFront(model, name).filter((row) => !model.locked.has(rowLock(name, row)))
/** The oldest unlocked row of those that are routed in pieces. */
export const largeRow = (model: Model): QueueRow | undefined =>
  inOrder(model.unrouted).find((row) => row.place && !model.locked.has(rowLock('unrouted', row)))

/**
 * Whole rows, the oldest that nobody holds: as many as there would be room for if all were of the oldest one's size, held
 * by somebody or not. Of these the first, and those behind it that there is room for; the others stay.
 */
export function takeRows(model: Model, look: Look, name: QueueName, { most, asSeen }: Limits): Taken {
  if (asSeen) return takeGone(freeRows(model, name), look[name], most)
  const [oldest] = inFront(model, name)
  if (!oldest) return { held: [], batch: [], more: false }
  const rowsMax = Math.max(1, Math.floor(most / oldest.entries.length))
  const held = freeRows(model, name).slice(0, rowsMax)
  let fitting = Math.min(1, held.length)
  while (fitting < held.length && sizeOf(held.slice(0, fitting + 1)) <= most) fitting += 1
  const isCut = fitting < held.length || held.length === rowsMax
  return { held, batch: held.slice(0, fitting), more: isCut }
}

/**
 * For one that begins now, `beside` another one with that limit. Two at once have what one after the other would, unless a
 * row may be in the hands of one that has no room for it: then the other passes it over.
 */
export function limitsBeside(
  model: Model,
  name: QueueName,
  most: number,
  beside: number | undefined,
): Limits {
  if (beside === undefined) return { most }
  const sizes = inFront(model, name).map(({ entries }) => entries.length)
  const isForeseen = new Set(sizes).size <= 1 || sizes.length * Math.max(...sizes) <= Math.min(most, beside)
  return { most, asSeen: !isForeseen }
}

/** Of the rows that are gone from the queue, what one of the two can have taken; the other has the rest. */
function takeGone(free: readonly QueueRow[], left: readonly QueueRow[], most: number): Taken {
  const batch: QueueRow[] = []
  for (const row of goneOf(free, left)) {
    if (batch.length === 0 || sizeOf([...batch, row]) <= most) batch.push(row)
  }
  return { held: batch, batch, more: true }
}

function goneOf(rows: readonly QueueRow[], left: readonly QueueRow[]): QueueRow[] {
  const ids = new Set(left.map(({ id }) => id))
  return rows.filter(({ id }) => !ids.has(id))
}

/** Of two at once: the oldest row is gone, and one is passed over only where the other had it and no room for it. */
export function checkTakenTogether(
  model: Model,
  look: Look,
  name: QueueName,
  limits: readonly [number, number],
): void {
  const free = freeRows(model, name)
  const gone = goneOf(free, look[name])
  const [oldest] = free
  if (oldest && !gone.includes(oldest)) throw new Mismatch(`${oldest.entries} came first, and was left`)
  const passedOver = free.find((row) => !gone.includes(row) && gone.some(({ id }) => id > row.id))
  if (passedOver && sizeOf([...gone, passedOver]) <= Math.min(...limits)) {
    throw new Mismatch(`${passedOver.entries} was passed over, and there was room for it`)
  }
}

/** As sagapost.entries_per_row() has it. */
const ENTRIES_PER_ROW = 50
/** Less than there is between two rows that were seen. */
const UNSEEN = 0.001

/**
 * What one statement puts there: one row, or full ones and a rest. Their places are seen, or they were taken at once: then
 * they were behind all others that had been there.
 */
export function enqueue(model: Model, look: Look, name: QueueName, row: Omit<QueueRow, 'id'>): void {
  const known = new Set(model[name].map(({ id }) => id))
  const added = look[name].filter(({ id }) => !known.has(id))
  for (const part of splitRow([...row.entries].sort(), added)) {
    const found = added.find(({ entries }) => isDeepStrictEqual(entries, part))
    const last = Math.max(0, ...inFront(model, name).map(({ id }) => id))
    model[name].push({ ...row, id: found?.id ?? last + UNSEEN, entries: part })
  }
}

/** Who shares a row with whom is not ruled, only how many. */
function splitRow(entries: readonly string[], added: readonly QueueRow[]): string[][] {
  const seen = entries.length > ENTRIES_PER_ROW ? inOrder(added).map((row) => row.entries) : []
  const ours = seen.filter((part) => part.every((name) => entries.includes(name)))
  const rest = entries.filter((name) => !ours.some((part) => part.includes(name)))
  const taken: string[][] = []
  while (rest.length > 0) taken.push(rest.splice(0, ENTRIES_PER_ROW))
  const parts = [...taken, ...ours]
  const fewest = Math.ceil(entries.length / ENTRIES_PER_ROW)
  if (parts.length > fewest || parts.some((part) => part.length > ENTRIES_PER_ROW)) {
    throw new Mismatch(`${entries.length} entries in rows of ${parts.map((part) => part.length)}`)
  }
  return parts
}

/** What was taken leaves the queue. */
export function removeRows(model: Model, name: QueueName, rows: readonly QueueRow[]): void {
  model[name] = model[name].filter((row) => !rows.some(({ id }) => id === row.id))
}

/** As sagapost.event_routing_queue has it: behind all others. */
const BACK = 2 ** 52

export function moveToBack(model: Model, rows: readonly QueueRow[], orders: Look['orders']): void {
  removeRows(model, 'unrouted', rows)
  for (const row of rows) {
    const place = { order: orders.get(row.id) ?? row.entries, routed: 0, last: null }
    model.unrouted.push({ ...row, id: row.id + BACK, place })
  }
}
