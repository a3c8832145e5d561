import { z } from 'zod'
import { isRowId } from '../database/index.js'
import { deliveryMachine, jobMachine } from '../model/index.js'

/** The schemas of the HTTP API, which validate requests, serialize responses and generate the OpenAPI document. */

export const id = z
  .string()
  .regex(/^[1-9]\d{0,18}$/, 'must be an id: a decimal number as a string')
  .meta({ examples: ['1042'] })

/** An id parameter. PostgreSQL would refuse one outside the range of bigint. */
export const idToFind = id.refine(isRowId, 'must be an id: at most 9223372036854775807')

export const time = z.string().meta({ format: 'date-time', examples: ['2026-01-31T12:00:00.000Z'] })
const pathId = z.string().meta({ examples: ['1042'] })

/** An invalid id matches nothing: 404, not 400. */
export const idParameter = z.strictObject({ id: pathId })

export const page = {
  limit: z.coerce.number().int().min(1).max(200).default(50).describe('page size, at most 200'),
  cursor: z.string().min(1).max(500).optional().describe('nextCursor of the previous page'),
}

const instant = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 time such as 2026-01-31T12:00:00Z' })
  .meta({ examples: ['2026-01-31T12:00:00Z'] })

/** A time range: `from` inclusive, `to` exclusive. */
const range = { from: instant.optional(), to: instant.optional() }

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), nextCursor: z.string().nullable().describe('null: the last page') })
}

// Events

const eventType = z.string().meta({ examples: ['order.placed'] })

const webhookId = z
  .string()
  .describe(
    'sent to receivers as webhook-id: the same for every attempt and requeue, and unique to the event',
  )
  .meta({ examples: ['evt_1042_hfd2trxwlc'] })
const webhookIdOfEvent = webhookId
  .nullable()
  .describe('webhookId of the event; null when its partition was removed')

export const eventIdParameter = z.strictObject({
  id: z
    .string()
    .describe('an event’s id or webhookId')
    .meta({ examples: ['1042', 'evt_1042_hfd2trxwlc'] }),
})

export const newEvent = z
  .strictObject({
    type: eventType.describe('1 to 100 characters of A–Z, a–z, 0–9, _, . and -'),
    payload: z
      .unknown()
      .describe('any JSON; stored, signed and sent byte for byte as in the request')
      .meta({ examples: [{ orderId: 7 }] }),
    idempotencyKey: z.string().min(1).max(255).optional().describe('a repeated key stores nothing new'),
  })
  .meta({ id: 'NewEvent' })

export const newEventBatch = z.strictObject({ events: z.array(newEvent).min(1).max(1_000) })

export const eventReceipt = z
  .object({
    id,
    webhookId,
    type: eventType,
    createdAt: time,
    duplicate: z.boolean().describe('true: the key was already used, and this is the original result'),
  })
  .meta({ id: 'EventReceipt' })

const itemError = z
  .object({ error: z.object({ code: z.string(), detail: z.string() }) })
  .meta({ id: 'ItemError' })

export const batchReceipt = z.object({
  results: z.array(z.union([eventReceipt, itemError])).describe('one result per event, in order'),
})

// Deliveries

const attempt = z
  .object({
    id,
    status: z.enum(jobMachine.statuses),
    attemptAt: time,
    workerId: z.string().nullable(),
    responseStatus: z.number().int().nullable(),
    errorCode: z.string().nullable(),
    durationMs: z.number().nullable(),
    responseExcerpt: z.string().nullable(),
    leaseUntil: time.nullable().describe('when the worker’s lease expires; null unless Leased'),
    leaseResets: z.number().int().describe('number of leases that were lost'),
    finishedAt: time.nullable(),
  })
  .meta({ id: 'Attempt' })

export const delivery = z
  .object({
    id,
    eventId: id,
    webhookId: webhookIdOfEvent,
    subscriptionId: id,
    status: z.enum(deliveryMachine.statuses),
    attemptCount: z.number().int(),
    nextAttemptAt: time.nullable(),
    finalErrorCode: z.string().nullable(),
    requeuedFrom: id.nullable().describe('the dead letter that this delivery was created from'),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'Delivery' })

export const deliveryWithAttempts = delivery
  .extend({ attempts: z.array(attempt) })
  .meta({ id: 'DeliveryWithAttempts' })

export const deliveryFilter = z.strictObject({
  status: z.enum(deliveryMachine.statuses).optional(),
  eventId: id.optional(),
  subscriptionId: id.optional(),
  errorCode: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('error code of the last failure, for PendingRetry and DeadLettered deliveries'),
  eventType: eventType.optional(),
  ...page,
})

export const event = z
  .object({ id, webhookId, type: eventType, createdAt: time, correlationId: z.string().nullable() })
  .meta({ id: 'Event' })

export const setAsideEvent = z
  .object({
    eventId: id,
    type: eventType,
    correlationId: z.string().nullable(),
    errorCode: z.string().describe('an error code of this API, or a SQLSTATE'),
    reason: z.string().describe('the database’s error message'),
    setAsideAt: time,
  })
  .meta({ id: 'SetAsideEvent' })

const payloadTooLarge = z
  .literal(true)
  .optional()
  .describe('the payload is larger than 16 MiB: it is stored but shown as null and never sent')

export const eventWithPayload = event
  .extend({
    deliveries: z.array(delivery).describe('newest first, at most 200'),
    deliveriesNextCursor: z
      .string()
      .nullable()
      .describe('cursor for GET /v1/deliveries?eventId=, when there are more'),
    payload: z.unknown().describe('byte for byte as published'),
    payloadTooLarge,
  })
  .meta({ id: 'EventWithPayload' })

// Subscriptions

const headers = z
  .record(z.string(), z.string())
  .describe('sent with every delivery')
  .meta({ examples: [{ 'x-tenant': 'north' }] })
const scheme = z.enum(['v1', 'v1a']).describe('v1: HMAC-SHA256; v1a: ed25519')
const maxAttempts = z.number().nullable().describe('1 to 100; null: the default')
const callbackUrl = z.string().meta({ examples: ['https://receiver.example/hooks'] })

export const newSubscription = z
  .strictObject({
    eventType,
    callbackUrl,
    maxAttempts: maxAttempts.optional(),
    headers: headers.optional(),
    scheme: scheme.optional(),
  })
  .meta({ id: 'NewSubscription' })

export const subscriptionChange = z
  .strictObject({
    eventType: eventType.optional(),
    callbackUrl: callbackUrl.optional().describe('a changed URL clears verified and active'),
    active: z.boolean().optional(),
    maxAttempts: maxAttempts.optional(),
    headers: headers.optional(),
  })
  .meta({ id: 'SubscriptionChange' })

const breaker = z
  .object({
    state: z
      .enum(['failing', 'open', 'exhausted'])
      .describe(
        'open: paused except for occasional probes; exhausted: the pause has ended and the endpoint still fails',
      ),
    failures: z.number().int().describe('in a row'),
    failingSince: time,
    lastErrorCode: z.string().nullable(),
    openedAt: time.nullable(),
    pausedUntil: time.nullable(),
    nextProbeAt: time.nullable(),
  })
  .meta({ id: 'Breaker' })

export const subscription = z
  .object({
    id,
    eventType,
    callbackUrl,
    active: z.boolean(),
    verified: z.boolean(),
    maxAttempts: z.number().int().nullable(),
    headers: headers.describe('the values are hidden from keys that may not change subscriptions'),
    createdAt: time,
    updatedAt: time,
    deletedAt: time.nullable(),
    deactivationReason: z.string().nullable(),
    breaker: breaker.nullable().describe('null: the last attempt succeeded, or there was none'),
  })
  .meta({ id: 'Subscription' })

const secret = z.string().describe('secret that the receiver verifies signatures with; shown only once')

export const createdSubscription = subscription.extend({ secret }).meta({ id: 'CreatedSubscription' })

const flag = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .optional()

export const subscriptionFilter = z.strictObject({
  eventType: eventType.optional(),
  active: flag,
  deleted: flag.describe('absent: both deleted and other subscriptions'),
  failing: flag.describe('whether the last attempt failed, that is, `breaker` is set'),
  ...page,
})

export const verifiedSubscription = z.object({ verified: z.literal(true), active: z.literal(true) })

export const rotation = z.strictObject({
  overlapMs: z
    .number()
    .int()
    .optional()
    .describe('how long requests are signed with both secrets; default 24 hours'),
  scheme: scheme.optional(),
})

export const rotatedSecret = z
  .object({ secret, previousExpiresAt: time.nullable() })
  .meta({ id: 'RotatedSecret' })

export const testOutcome = z
  .object({
    delivered: z.boolean(),
    responseStatus: z.number().int().nullable(),
    errorCode: z.string().nullable(),
    durationMs: z.number(),
    responseExcerpt: z.string().nullable(),
  })
  .meta({ id: 'TestOutcome' })

// Dead letters

export const deadLetterFilter = z.strictObject({
  subscriptionId: id.optional(),
  eventType: eventType.optional(),
  errorCode: z.string().min(1).max(100).optional(),
  ...range,
  ...page,
})

export const deadLetter = z
  .object({
    id,
    deliveryId: id,
    eventId: id,
    webhookId: webhookIdOfEvent,
    subscriptionId: id,
    eventType,
    finalErrorCode: z.string().nullable(),
    failedAt: time,
    attemptCount: z.number().int(),
    jobId: id.nullable().describe('job of the last attempt, as are workerId and leaseExpiration'),
    workerId: z.string().nullable(),
    leaseExpiration: time.nullable(),
    correlationId: z.string().nullable(),
    requeuedAs: id.nullable().describe('the delivery created by the requeue'),
  })
  .meta({ id: 'DeadLetter' })

export const deadLetterWithPayload = deadLetter
  .extend({
    payloadSnapshot: z.unknown().describe('the event’s payload, byte for byte'),
    payloadTooLarge,
  })
  .meta({ id: 'DeadLetterWithPayload' })

export const requeueRequest = z
  .strictObject({
    filter: z.strictObject({
      subscriptionId: id.optional(),
      eventType: eventType.optional(),
      errorCode: z.string().min(1).max(100).optional(),
      ...range,
      all: z.literal(true).optional().describe('all dead letters; required instead of an empty filter'),
    }),
    dryRun: z.boolean().optional().describe('true: only count'),
  })
  .meta({ id: 'RequeueRequest' })

export const matchingLetters = z.object({ matching: z.number().int() }).meta({ id: 'MatchingDeadLetters' })

export const startedRequeue = z
  .object({
    sagaId: z.string().meta({ examples: ['1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a'] }),
    matching: z
      .number()
      .int()
      .describe('dead letters that matched and had not been requeued; later ones are not included'),
  })
  .meta({ id: 'StartedRequeue' })

export const requeued = z.object({ deliveryId: id }).meta({ id: 'Requeued' })

export const eventFilter = z.strictObject({
  type: eventType.optional(),
  idempotencyKey: z.string().min(1).max(255).optional().describe('the event published with this key'),
  ...range,
  ...page,
})

export const pageFilter = z.strictObject(page)

// Error responses

const verificationFailures = [
  ...(['request_failed', 'challenge_missing'] as const),
  ...(['callback_url_changed', 'subscription_deleted', 'superseded'] as const),
] as const

export const problemDetails = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    code: z.string().describe('stable; docs/reference/errors.md lists them'),
    errors: z.array(z.object({ field: z.string(), detail: z.string() })).optional(),
    reason: z.enum(verificationFailures).optional().describe('of verification_failed'),
    response: testOutcome.optional().describe('for verification_failed: the response of the callback'),
  })
  .meta({ id: 'Problem' })

/** Additional fields of a failed verification's problem. */
export type VerificationProblem = Required<Pick<z.infer<typeof problemDetails>, 'reason' | 'response'>>
