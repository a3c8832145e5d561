import type { ClientBase } from 'pg'
import { SagapostError } from '../errors/index.js'
import { refuseEvent } from './check-event.js'

export interface PublishedEvent {
  type: string
  /** Any value that JSON can hold; it is written by JSON.stringify. */
  payload: unknown
  idempotencyKey?: string
  correlationId?: string
  traceparent?: string
}

const publishOne = `SELECT sagapost.publish($1, $2::json, $3, $4, $5) AS id`

/**
 * Stores one event in the transaction that the caller has open on its own connection: the event exists if and
 * only if that transaction commits. The connection's role needs event_ingest_writer. Returns the event's id.
 */
export async function publish(client: Pick<ClientBase, 'query'>, event: PublishedEvent): Promise<string> {
  const payload = JSON.stringify(event.payload)
  if (payload === undefined)
    throw new SagapostError('payload_invalid', 'the payload cannot be written as JSON')
  const refusal = refuseEvent({ ...event, payload })
  if (refusal) throw new SagapostError(refusal.code, refusal.detail)
  const { rows } = await client.query<{ id: string }>(publishOne, [
    event.type,
    payload,
    event.idempotencyKey ?? null,
    event.correlationId ?? null,
    event.traceparent ?? null,
  ])
  return rows[0]?.id as string
}
