import { expect } from 'vitest'
import { storeEvents } from '../../src/delivery/index.js'
import { checkInvariants } from '../../src/doctor/index.js'
import { checkAgainstReceiver, type ReceiverEvidence } from '../support/check-against-receiver.js'
import { countDeliveries } from '../support/count-deliveries.js'
import type { TestDatabase } from '../support/database.js'
import { sha256 } from '../support/receiver-log.js'
import type { Endpoint } from './use-receiver.js'

type NewEvent = Parameters<typeof storeEvents>[1][number]

export const SETTLE_MS_MAX = 300_000

/** Waits until everything that was published has come to its end. */
export async function untilSettled(database: TestDatabase): Promise<void> {
  await expect
    .poll(() => countDeliveries(database.as('saga_readonly_role')), { timeout: SETTLE_MS_MAX, interval: 250 })
    .toMatchObject({ unrouted: 0, open: 0 })
}

/** Every invariant holds, and the receiver's log agrees. For when the workers rest. */
export async function expectAllHolds(
  database: TestDatabase,
  evidence: ReceiverEvidence,
  routes: readonly Endpoint[],
): Promise<void> {
  const readOnly = database.as('saga_readonly_role')
  expect(await checkInvariants(readOnly, { settled: true, routes })).toEqual([])
  expect(await checkAgainstReceiver(readOnly, evidence)).toEqual([])
}

/** Stores the events and adds those that were acknowledged to `published`; returns their ids in order. */
export async function publish(
  database: TestDatabase,
  published: Map<string, string>,
  events: readonly NewEvent[],
): Promise<string[]> {
  const outcomes = await storeEvents(database.as('event_ingest_writer'), events)
  return outcomes.map((outcome, index) => {
    if ('refusal' in outcome) throw new Error(outcome.refusal.detail)
    published.set(outcome.id, sha256(events[index]?.payload as string))
    return outcome.id
  })
}

export interface DeliveryRow {
  id: string
  status: string
  attempt_count: number
  final_error_code: string | null
  requeued_from: string | null
}

export async function deliveriesOf(database: TestDatabase, subscriptionId: string): Promise<DeliveryRow[]> {
  const { rows } = await database.pool.query<DeliveryRow>(
    `SELECT id, status, attempt_count, final_error_code, requeued_from
     FROM sagapost.webhook_delivery_sagas WHERE subscription_id = $1 ORDER BY id`,
    [subscriptionId],
  )
  return rows
}
