import type pg from 'pg'

/** Event ids from `from` up to, but not including, `to`. */
export interface EventRange {
  from: string
  to: string
  /** The window's own range, for which nearly all statements run and are prepared. */
  planned?: { from: string; to: string }
}

export interface WorkWindow {
  /** The one to three partitions that receive new events; the hot loops read only these. */
  fresh: EventRange
  /** Older partitions with open work, oldest first. */
  older: readonly EventRange[]
  /** Where each partition begins, oldest first, and where the last one ends. */
  borders: readonly string[]
}

/** The fresh range or the older partition that an event belongs to. */
export function rangeOf({ fresh, borders }: WorkWindow, eventId: string): EventRange {
  if (isWithin(fresh, eventId)) return fresh
  const id = BigInt(eventId)
  const next = borders.findIndex((border) => BigInt(border) > id)
  const [from, to] = [borders[next - 1], borders[next]]
  // The window does not know the event's partition yet, or no longer.
  return from !== undefined && to !== undefined ? { from, to } : { from: eventId, to: String(id + 1n) }
}

/** The fresh range and the partitions before it, newest first. */
export function newestRanges({ fresh, borders }: WorkWindow, count = borders.length): EventRange[] {
  return [fresh, ...rangesBefore(fresh, borders).slice(-count).reverse()]
}

/** Groups items by range, so that each statement touches the partitions of one range only. */
export function groupByRange<Item>(
  window: WorkWindow,
  items: readonly Item[],
  eventIdOf: (item: Item) => string,
): { range: EventRange; items: Item[] }[] {
  const groups = new Map<string, { range: EventRange; items: Item[] }>()
  for (const item of items) {
    const range = rangeOf(window, eventIdOf(item))
    const group = groups.get(range.from)
    if (group) group.items.push(item)
    else groups.set(range.from, { range, items: [item] })
  }
  return [...groups.values()]
}

const isWithin = ({ from, to }: EventRange, eventId: string) =>
  compareIds(eventId, from) >= 0 && compareIds(eventId, to) < 0

/** Compares ids as text, without parsing each into a number. */
const compareIds = (a: string, b: string) => a.length - b.length || (a < b ? -1 : Number(a > b))

/** How many older partitions a loop visits per round: the cost of a round must not depend on their number. */
const OLDER_AT_A_TIME = 4

/** Visits some of a window's older ranges per call, in turn. */
export function visitInTurn(count = OLDER_AT_A_TIME): (older: readonly EventRange[]) => EventRange[] {
  let last = -1n
  return (older) => {
    const after = older.findIndex(({ from }) => BigInt(from) > last)
    const start = Math.max(after, 0)
    const visited = [...older.slice(start), ...older.slice(0, start)].slice(0, count)
    last = BigInt(visited.at(-1)?.from ?? -1)
    return visited
  }
}

/** How many older partitions one call looks at, of those with open work and of those without. */
const PROBED_AT_A_TIME = 16
/** A delivery whose result is not applied yet has briefly no open work. */
const LINGER_MS = 30_000

const selectWindow = `
  SELECT borders::text[] AS borders, fresh_from, fresh_to, planned_to, open_ranges::text[] AS open_ranges
  FROM sagapost.work_window($1)`

/**
 * Reads the window repeatedly (migrations/0008). The first call looks at all older partitions, later calls at a few
 * each, in turn. Callable by saga_orchestrator and job_worker.
 */
export function createWindowReader(pool: pg.Pool): () => Promise<WorkWindow> {
  /** Older ranges with open work, and when each last had some. */
  const openAtMs = new Map<string, number>()
  const nextOpen = visitInTurn(PROBED_AT_A_TIME)
  const nextSettled = visitInTurn(PROBED_AT_A_TIME)
  let known: WorkWindow | undefined

  async function look(ranges: readonly EventRange[]): Promise<WorkWindow> {
    const lookedAt = ranges.map(({ from }) => from)
    const { rows } = await pool.query<{
      borders: string[]
      fresh_from: string
      fresh_to: string
      planned_to: string
      open_ranges: string[]
    }>(selectWindow, [lookedAt])
    const window = rows[0]
    if (!window) throw new Error('sagapost.work_window() returned nothing')
    const { borders, open_ranges, fresh_from: from, fresh_to: to } = window
    const fresh = { from, to, planned: { from, to: window.planned_to } }
    const nowMs = performance.now()
    for (const from of open_ranges) openAtMs.set(from, nowMs)
    const older = rangesBefore(fresh, borders)
    // A range that was fresh until now may have open work: only a look tells.
    for (const range of older) {
      if (known && BigInt(range.from) >= BigInt(known.fresh.from)) openAtMs.set(range.from, nowMs)
    }
    for (const [from, atMs] of openAtMs) {
      const isGone = !older.some((range) => range.from === from)
      if (isGone || (lookedAt.includes(from) && nowMs - atMs > LINGER_MS)) openAtMs.delete(from)
    }
    return { fresh, borders, older: older.filter(({ from }) => openAtMs.has(from)) }
  }

  async function lookAtAll(): Promise<WorkWindow> {
    let window = await look([])
    const ranges = rangesBefore(window.fresh, window.borders)
    for (let at = 0; at < ranges.length; at += PROBED_AT_A_TIME) {
      window = await look(ranges.slice(at, at + PROBED_AT_A_TIME))
    }
    return window
  }

  return async () => {
    if (!known) known = await lookAtAll()
    else {
      const settled = rangesBefore(known.fresh, known.borders).filter(({ from }) => !openAtMs.has(from))
      known = await look([...nextOpen(known.older), ...nextSettled(settled)])
    }
    return known
  }
}

const rangesBefore = ({ from }: EventRange, borders: readonly string[]): EventRange[] =>
  borders.slice(0, -1).flatMap((border, at) => {
    const to = borders[at + 1]
    return to !== undefined && BigInt(border) < BigInt(from) ? [{ from: border, to }] : []
  })
