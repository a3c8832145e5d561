import { databaseErrorCode, isSchemaMissing } from '../../database/index.js'
import { SagapostError } from '../../errors/index.js'
import { type EventRefusal, refuseEvent } from '../../model/index.js'

/** Exactly one of the two. */
interface GivenPayload {
  /** Any JSON value; serialized with JSON.stringify. */
  payload?: unknown
  /** JSON text, stored byte for byte. */
  payloadJson?: string | undefined
}

export interface PublishedEvent extends GivenPayload {
  type: string
  idempotencyKey?: string | undefined
  correlationId?: string | undefined
  traceparent?: string | undefined
}

/** Compatible with any version of `pg` that the application uses. */
interface QueryClient {
  query(text: string, values: unknown[]): Promise<{ rows: { id: string }[] }>
}

// Returned as text, since the application's `pg` may parse bigint differently.
const publishOne = `SELECT sagapost.publish($1, $2::json, $3, $4, $5)::text AS id`

/**
 * Stores one event in the transaction that is open on the caller's connection and returns its id: the event exists if
 * and only if that transaction commits. The connection's role needs event_publisher or event_ingest_writer. An error of
 * this function's own checks leaves the transaction usable; one of the database aborts it.
 */
export async function publish(client: QueryClient, event: PublishedEvent): Promise<string> {
  const payload = payloadText(event)
  if (typeof payload !== 'string') throw refused(payload.refusal)
  const { type, idempotencyKey, correlationId, traceparent } = event
  const refusal = refuseEvent({
    type,
    payload,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(correlationId !== undefined && { correlationId }),
    ...(traceparent !== undefined && { traceparent }),
  })
  if (refusal) throw refused(refusal)
  const values = [type, payload, idempotencyKey ?? null, correlationId ?? null, traceparent ?? null]
  try {
    const { rows } = await client.query(publishOne, values)
    return rows[0]?.id as string
  } catch (error) {
    throw explain(error)
  }
}

/** The payload's JSON text, or the reason why it is refused. */
export function payloadText({ payload, payloadJson }: GivenPayload): string | { refusal: EventRefusal } {
  if (payloadJson !== undefined) {
    if (payload !== undefined) return noPayload('give payload or payloadJson, not both')
    return typeof payloadJson === 'string' ? payloadJson : noPayload('payloadJson must be a text')
  }
  try {
    return JSON.stringify(payload) ?? noPayload('the payload cannot be written as JSON')
  } catch (error) {
    return noPayload(`the payload cannot be written as JSON: ${(error as Error).message.split('\n')[0]}`)
  }
}

function noPayload(detail: string): { refusal: EventRefusal } {
  return { refusal: { code: 'payload_invalid', field: 'payload', detail } }
}

function refused({ code, detail }: EventRefusal): SagapostError {
  return new SagapostError(code, detail)
}

function notMigrated(error: Error): SagapostError {
  return new SagapostError('schema_outdated', `the database is not migrated: ${error.message}`, {
    cause: error,
  })
}

function explain(error: unknown): unknown {
  const code = databaseErrorCode(error)
  if (code === undefined) return isSchemaMissing(error) ? notMigrated(error as Error) : error
  const { message } = error as Error
  const hint = code === 'permission_denied' ? '; the login needs GRANT event_publisher' : ''
  return new SagapostError(code, `${message}${hint}`, { cause: error })
}
