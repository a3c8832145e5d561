import type { Standing } from '../breakers/index.js'

/** The least time between two looks at whose turn it is. */
const TURN_EVERY_MS = 250

/** How many more may be held. */
type Room = { failing: number; untried: number }

/**
 * Doubtful subscriptions that wait for a slot. They are left out of the claims, which go by the age of the jobs: one
 * that hangs may have thousands ahead of all others. Instead each has its turn, with one job, and goes to the end of the
 * line; those that nobody has tried come before those that fail.
 */
export interface Turns {
  /** Those of them that are doubtful get in line. */
  add(subscriptionIds: Iterable<string>): void
  /** Those in line: claims leave them out. */
  waiting(): string[]
  /** In how long a look at whose turn it is may begin; never while there is room for none of them. */
  lookInMs(nowMs: number, room: Room): number
  /** Whether the last look is long enough ago. */
  mayLook(nowMs: number): boolean
  /** A look has begun. */
  looked(nowMs: number): void
  /** Whose turn it is among those that a look has found, as far as the room goes; all of them are in line from now on. */
  next(found: Iterable<string>, room: Room): string[]
  /** The looks have come to the end: nothing waits for those that none has found since the last time. */
  wentRound(): void
}

export function createTurns(
  standingOf: (subscriptionId: string) => Standing,
  mayBegin: (subscriptionId: string) => boolean,
): Turns {
  // The longest first.
  const line = new Set<string>()
  const seen = new Set<string>()
  let dueAtMs = 0

  const add = (ids: Iterable<string>) => {
    for (const id of ids) {
      seen.add(id)
      if (standingOf(id) !== 'answering') line.add(id)
    }
  }

  const hasUntried = () => {
    for (const id of line) if (standingOf(id) === 'untried') return true
    return false
  }

  return {
    add,
    waiting() {
      for (const id of line) if (standingOf(id) === 'answering') line.delete(id)
      return [...line]
    },
    lookInMs(nowMs, room) {
      if (line.size === 0 || room.failing + room.untried === 0) return Number.POSITIVE_INFINITY
      // Asked in each round: thousands are not gone through before a look may begin.
      if (nowMs < dueAtMs) return dueAtMs - nowMs
      return room.failing > 0 || hasUntried() ? 0 : Number.POSITIVE_INFINITY
    },
    mayLook: (nowMs) => nowMs >= dueAtMs,
    looked(nowMs) {
      dueAtMs = nowMs + TURN_EVERY_MS
    },
    next(found, room) {
      const here = new Set(found)
      add(here)
      const ready = [...line].filter((id) => here.has(id) && mayBegin(id))
      const untried = ready.filter((id) => standingOf(id) === 'untried').slice(0, room.untried)
      const failing = ready
        .filter((id) => standingOf(id) === 'failing')
        .slice(0, Math.max(0, room.failing - untried.length))
      const chosen = [...untried, ...failing]
      for (const id of chosen) {
        line.delete(id)
        line.add(id)
      }
      return chosen
    },
    wentRound() {
      for (const id of line) if (!seen.has(id)) line.delete(id)
      seen.clear()
    },
  }
}
