import type pg from 'pg'
import { deliveryTopic } from '../../topics.js'
import type { AwaitedDeliveries, AwaitingStep } from '../state-storage.js'

/** migrations/0011: by the primary key of saga_awaited_events, and the two indexes of an event in its partition. */
const selectDeliveries = `
  SELECT saga_id, step_index, event_id, standing, completed::int AS completed, dead::int AS dead
  FROM sagapost.awaited_deliveries($1, $2)`

interface DeliveriesRow {
  saga_id: string
  step_index: number
  event_id: string
  standing: AwaitedDeliveries['standing']
  completed: number
  dead: number
}

export async function findDeliveries(
  pool: pg.Pool,
  steps: readonly AwaitingStep[],
): Promise<Map<string, AwaitedDeliveries>> {
  const { rows } = await pool.query<DeliveriesRow>(selectDeliveries, [
    steps.map(({ sagaId }) => sagaId),
    steps.map(({ stepIndex }) => stepIndex),
  ])
  return new Map(
    rows.map(({ saga_id, step_index, event_id: eventId, standing, completed, dead }) => [
      deliveryTopic(saga_id, step_index),
      { eventId, standing, completed, dead },
    ]),
  )
}
