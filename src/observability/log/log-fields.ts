/** The fields of J11 and O5, named as the columns are, and the header. Every line about one of these things uses these names. */
export const logFieldNames = [
  'event_id',
  'webhook_id',
  'saga_id',
  'job_id',
  'subscription_id',
  'worker_id',
  'lease_expiration',
  'attempt',
  'error_code',
  'correlation_id',
] as const

export type LogFields = Partial<Record<(typeof logFieldNames)[number], unknown>>

export interface LoggedThing {
  eventId?: string
  webhookId?: string
  sagaId?: string
  deliveryId?: string
  jobId?: string
  subscriptionId?: string
  workerId?: string | null
  leaseExpiration?: Date | null
  attempt?: number
  errorCode?: string | null
  /** Null when the publisher gave none; then the event's id serves as one. */
  correlationId?: string | null
}

/** [J11, O5] What is known of a thing, under the names that all log lines share. What is not known is left out. */
export function logFields(thing: LoggedThing): LogFields {
  const fields: LogFields = {}
  if (thing.eventId !== undefined) fields.event_id = thing.eventId
  if (thing.webhookId !== undefined) fields.webhook_id = thing.webhookId
  if (thing.sagaId !== undefined) fields.saga_id = thing.sagaId
  if (thing.deliveryId !== undefined) fields.saga_id = thing.deliveryId
  if (thing.jobId !== undefined) fields.job_id = thing.jobId
  if (thing.subscriptionId !== undefined) fields.subscription_id = thing.subscriptionId
  if (thing.workerId != null) fields.worker_id = thing.workerId
  if (thing.leaseExpiration != null) fields.lease_expiration = thing.leaseExpiration
  if (thing.attempt !== undefined) fields.attempt = thing.attempt
  if (thing.errorCode != null) fields.error_code = thing.errorCode
  if (thing.eventId !== undefined) fields.correlation_id = correlationIdOf(thing.eventId, thing.correlationId)
  else if (thing.correlationId != null) fields.correlation_id = thing.correlationId
  return fields
}

/** [O5] One id from publish to the request: the publisher's, or else the event's, as its `webhook-id` begins. */
export function correlationIdOf(eventId: string, correlationId: string | null | undefined): string {
  return correlationId ?? `evt_${eventId}`
}
