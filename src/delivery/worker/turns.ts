import type { Standing } from '../breakers/index.js'

/** The minimum time between two looks for waiting subscriptions. */
const TURN_EVERY_MS = 250

/** How many more jobs may be held. */
type Room = { failing: number; untried: number }

/**
 * Doubtful subscriptions that wait for a slot. Claims go by the age of jobs and leave them out, since one that hangs
 * may have thousands of jobs ahead of all others. Instead each gets one job in turn and goes to the end of the line;
 * untried subscriptions come before failing ones.
 */
export interface Turns {
  /** Adds the doubtful ones among these subscriptions to the line. */
  add(subscriptionIds: Iterable<string>): void
  /** The subscriptions in line, which claims leave out. */
  waiting(): string[]
  /** Time until the next look may start; infinite while there is room for none of them. */
  lookInMs(nowMs: number, room: Room): number
  /** Whether the last look is long enough ago. */
  mayLook(nowMs: number): boolean
  /** Records that a look has started. */
  looked(nowMs: number): void
  /**
   * The subscriptions whose turn it is among those found by a look, as far as there is room; all found ones join the
   * line.
   */
  next(found: Iterable<string>, room: Room): string[]
  /**
   * Records that the looks have reached the end: a subscription that none has found since the last time has nothing
   * waiting.
   */
  wentRound(): void
}

export function createTurns(
  standingOf: (subscriptionId: string) => Standing,
  mayBegin: (subscriptionId: string) => boolean,
): Turns {
  // Longest waiting first.
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
      // Runs in each round: thousands of subscriptions are not scanned before a look is due.
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
