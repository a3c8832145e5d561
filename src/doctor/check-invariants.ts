import type pg from 'pg'
import { deadLetterInvariants } from './dead-letter-invariants.js'
import { deliveryInvariants } from './delivery-invariants.js'
import type { Invariant } from './invariant.js'
import { inSnapshot, readFirstEventId, type SnapshotReader } from './read-snapshot.js'
import { routeInvariants, routingInvariants, settledInvariants } from './routing-invariants.js'
import { sagaInvariants, settledSagaInvariants } from './saga-invariants.js'
import { EXAMPLES_MAX, toViolation, type Violation } from './violation.js'

export interface InvariantOptions {
  /** Everything must have come to its end as well: nothing to route, no open delivery, no open saga. */
  settled?: boolean
  /**
   * Which subscriptions have to get the events of a type. Only for types whose subscriptions have not changed since
   * before their first event: the database does not keep what was active when.
   */
  routes?: readonly { eventType: string; subscriptionId: string }[]
}

/** Checked at any moment, whatever runs. */
const standingInvariants: readonly Invariant[] = [
  ...routingInvariants,
  ...deliveryInvariants,
  ...deadLetterInvariants,
]

/** Every invariant there is, in the order in which they are checked. */
export const invariants: readonly Invariant[] = [
  ...standingInvariants,
  ...routeInvariants,
  ...settledInvariants,
  ...sagaInvariants,
  ...settledSagaInvariants,
]

/**
 * What is wrong in the database, nothing when all invariants hold. For a pool under saga_readonly_role; safe on a
 * live database: one moment is looked at, nothing is locked, nothing can be written.
 */
export function checkInvariants(pool: pg.Pool, options: InvariantOptions = {}): Promise<Violation[]> {
  return inSnapshot(pool, (reader) => findViolations(reader, options))
}

export async function findViolations(
  reader: SnapshotReader,
  { settled = false, routes = [] }: InvariantOptions = {},
): Promise<Violation[]> {
  const bounds = [await readFirstEventId(reader), EXAMPLES_MAX]
  const types = routes.map(({ eventType }) => eventType)
  const subscriptionIds = routes.map(({ subscriptionId }) => subscriptionId)
  const found: Violation[] = []
  const check = async (invariant: Invariant, values: readonly unknown[]) => {
    const rows = await reader.query<{ id: string; detail: string; total: string }>(invariant.sql, values)
    if (!rows[0]) return
    const { total, detail } = rows[0]
    found.push(toViolation(invariant, { total: Number(total), first: detail, ids: rows.map(({ id }) => id) }))
  }
  for (const invariant of standingInvariants) await check(invariant, bounds)
  if (routes.length > 0) {
    for (const invariant of routeInvariants) await check(invariant, [...bounds, types, subscriptionIds])
  }
  if (settled) for (const invariant of settledInvariants) await check(invariant, bounds)
  for (const invariant of [...sagaInvariants, ...(settled ? settledSagaInvariants : [])]) {
    await check(invariant, [EXAMPLES_MAX])
  }
  return found
}
