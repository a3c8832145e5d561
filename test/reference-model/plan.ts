import type { Model } from './model.js'
import type { Look } from './read-state.js'

/** What an operation must answer. */
export type Facts = Record<string, unknown>

/**
 * One transaction of an operation: what it decides on the state at its first statement, which rows it then holds, and what
 * its commit makes of the state.
 */
export type Plan = (model: Model, look: Look) => Planned

export interface Planned {
  locks: readonly string[]
  commit(model: Model, look: Look): Facts | undefined
}

/** The database is where no rule leads. */
export class Mismatch extends Error {}

/** A transaction that changes nothing, and must answer so. */
export const nothing = (facts?: Facts): Planned => ({ locks: [], commit: () => facts })

interface Choice {
  what: string
  names: readonly string[]
  most: number
  /** Those that a limited operation took, by what the database shows afterwards. */
  isTaken: (name: string) => boolean
  /** What comes first must be taken first. */
  order?: (name: string) => number
  /** Another of its kind runs at the same moment: the two have it all between them. */
  shared?: boolean
}

/** Which rows an operation takes: all there are; of more than its limit as many, the first in order, whichever of equals. */
export function choose({ what, names, most, isTaken, order = () => 0, shared }: Choice): string[] {
  if (shared) return names.filter(isTaken)
  if (names.length <= most) return [...names]
  const taken = names.filter(isTaken).sort((a, b) => order(a) - order(b))
  const chosen = taken.slice(0, most)
  if (chosen.length < most) {
    throw new Mismatch(`${what}: ${most} of ${names.length} were there to be taken, ${chosen.length} were`)
  }
  const last = Math.max(...chosen.map(order))
  const passedOver = names.find((name) => !isTaken(name) && order(name) < last)
  if (passedOver !== undefined) throw new Mismatch(`${what}: ${passedOver} came first and was passed over`)
  return chosen
}

/** The row that the rules say is there. */
export function get<T>(rows: Map<string, T>, name: string): T {
  const row = rows.get(name)
  if (row === undefined) throw new Error(`the model has no ${name}`)
  return row
}
