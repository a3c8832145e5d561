import type pg from 'pg'
import { type EventRange, inEachSpan } from '../database/index.js'
import { deadLetterInvariants } from './dead-letter-invariants.js'
import { deliveryInvariants } from './delivery-invariants.js'
import type { Invariant, InvariantName } from './invariant.js'
import { findUnpublishedHistories, publishedSagaHasItsEvents } from './published-histories.js'
import { inSnapshot, readFirstEventId, type SnapshotReader } from './read-snapshot.js'
import { readSpans } from './read-spans.js'
import { routeInvariants, routingInvariants, settledInvariants } from './routing-invariants.js'
import { sagaInvariants, settledSagaInvariants } from './saga-invariants.js'
import { type Breaches, collectBreaches, EXAMPLES_MAX, type Violation } from './violation.js'

export interface InvariantOptions {
  /** Also require that no work is left: nothing to route, no open delivery, no open saga. */
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
export const invariants: readonly InvariantName[] = [
  ...standingInvariants,
  ...routeInvariants,
  ...settledInvariants,
  ...sagaInvariants,
  publishedSagaHasItsEvents,
  ...settledSagaInvariants,
]

/**
 * What is wrong in the database, nothing when all invariants hold. For a pool under saga_readonly_role; safe on a
 * live database: it reads one snapshot, blocks no other session and cannot write.
 */
export function checkInvariants(pool: pg.Pool, options: InvariantOptions = {}): Promise<Violation[]> {
  return inSnapshot(pool, (reader) => findViolations(reader, options))
}

/** In a transaction. Range by range: with hundreds of partitions the locks of all do not fit into PostgreSQL's table of them. */
export async function findViolations(
  reader: SnapshotReader,
  { settled = false, routes = [] }: InvariantOptions = {},
): Promise<Violation[]> {
  const spans = await readSpans(reader, await readFirstEventId(reader))
  const ofRoutes = [
    routes.map(({ eventType }) => eventType),
    routes.map(({ subscriptionId }) => subscriptionId),
  ]
  const checks: Check[] = [
    ...standingInvariants.map((invariant) => startCheck(invariant)),
    ...(routes.length > 0 ? routeInvariants : []).map((invariant) => startCheck(invariant, ofRoutes)),
    ...(settled ? settledInvariants : []).map((invariant) => startCheck(invariant)),
  ]
  await inEachSpan(reader, spans, async (span) => {
    for (const check of checks) await runCheck(reader, check, span)
  })
  const ofSagas = sagaInvariants.map((invariant) => startCheck(invariant))
  const ofSettled = (settled ? settledSagaInvariants : []).map((invariant) => startCheck(invariant))
  for (const check of [...ofSagas, ...ofSettled]) await runCheck(reader, check)
  return [
    ...[...checks, ...ofSagas].flatMap(({ breaches }) => breaches.violations()),
    ...(await findUnpublishedHistories(reader)),
    ...ofSettled.flatMap(({ breaches }) => breaches.violations()),
  ]
}

/** An invariant, and what has been found to break it so far. */
interface Check {
  sql: string
  more: readonly unknown[]
  breaches: Breaches
}

function startCheck(invariant: Invariant, more: readonly unknown[] = []): Check {
  return { sql: invariant.sql, more, breaches: collectBreaches(invariant) }
}

async function runCheck(
  reader: SnapshotReader,
  { sql, more, breaches }: Check,
  span?: EventRange,
): Promise<void> {
  const bounds = span ? [span.from, span.to] : []
  const rows = await reader.query<{ id: string; detail: string; total: string }>(sql, [
    ...bounds,
    EXAMPLES_MAX,
    ...more,
  ])
  for (const { id, detail } of rows) breaches.add(id, detail)
  if (rows[0]) breaches.addUnnamed(Number(rows[0].total) - rows.length)
}
