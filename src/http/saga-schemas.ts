import { z } from 'zod'
import { sagaEventTypes, sagaMachine, sagaStepMachine } from '../model/index.js'
import { page, time } from './schemas.js'

const sagaId = z.string().meta({ examples: ['1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a'] })
const objectData = z.record(z.string(), z.unknown())

/** An invalid id matches nothing: 404, not 400. */
export const sagaIdParameter = z.strictObject({ id: sagaId })

const sagaFailure = z
  .object({
    code: z.string(),
    message: z.string(),
    type: z.string().nullable(),
    retryable: z.boolean().nullable(),
    timestamp: z.string().nullable(),
    stackTrace: z.string().nullable(),
    details: objectData.nullable(),
    get cause() {
      return sagaFailure.nullable()
    },
  })
  .meta({ id: 'SagaFailure' })

export const sagaInstance = z
  .object({
    id: sagaId,
    definition: z.string().meta({ examples: ['checkout'] }),
    definitionVersion: z.number().int(),
    key: z.string().nullable().describe('starting a saga with the same key returns this one'),
    name: z.string().nullable().describe('name of this saga, given when it was started'),
    description: z.string().nullable(),
    state: z.enum(sagaMachine.statuses),
    currentStep: z.number().int().describe('index of the running step, or of the next one'),
    totalSteps: z.number().int(),
    error: sagaFailure.nullable(),
    awaitingOperator: z
      .boolean()
      .describe(
        'the saga waits for an operator: a compensation failed permanently, or a step waits for something that needs one',
      ),
    createdAt: time,
    updatedAt: time,
    startedAt: time.nullable(),
    completedAt: time.nullable(),
    timedOutAt: time.nullable(),
    deadlineAt: time.nullable(),
    wakeAt: time
      .nullable()
      .describe('when the saga resumes: at a retry, at the end of a wait, or when its lease expires'),
    leaseOwner: z.string().nullable().describe('the coordinator that holds the lease'),
    leaseUntil: time.nullable(),
    cancelRequestedAt: time.nullable(),
    cancelRequestedBy: z.string().nullable(),
    cancelReason: z.string().nullable(),
    traceId: z.string().nullable(),
    spanId: z.string().nullable(),
    parentId: z.string().nullable().describe('the saga that started this one as a step'),
    pivotedAt: time.nullable().describe('from then on the saga is not compensated'),
  })
  .meta({ id: 'Saga' })

const sagaStep = z
  .object({
    index: z.number().int(),
    name: z.string(),
    state: z.enum(sagaStepMachine.statuses),
    attempts: z.number().int(),
    maxAttempts: z.number().int(),
    input: objectData.nullable().describe('outputs of the steps directly before it, or the saga’s input'),
    output: z.unknown().describe('what the step returned; encrypted data is shown encrypted'),
    progress: objectData.nullable().describe('progress of a built-in step: RequeueProgress'),
    error: sagaFailure.nullable(),
    createdAt: time,
    startedAt: time.nullable(),
    completedAt: time.nullable(),
    lastAttemptAt: time.nullable(),
    metadata: objectData.nullable().describe('from the definition'),
    waitsFor: z
      .string()
      .nullable()
      .describe(
        'what the step waits or waited for: signal:<name>:<key>, saga:<id> or delivery:<saga>:<step>',
      ),
    wakeAt: time.nullable().describe('when its sleep or wait ends, or when it is retried'),
    compensation: z
      .object({
        state: z.enum(sagaStepMachine.statuses),
        attempts: z.number().int(),
        maxAttempts: z.number().int(),
        startedAt: z.string().nullable(),
        completedAt: z.string().nullable(),
        error: sagaFailure.nullable(),
      })
      .nullable()
      .describe('null: compensation has not begun'),
  })
  .meta({ id: 'SagaStep' })

const sagaEvent = z
  .object({
    sequence: z.number().int().describe('from 1, without gaps'),
    type: z.enum(sagaEventTypes),
    stepIndex: z.number().int().nullable().describe('null: the entry concerns the saga itself'),
    timestamp: time,
    oldState: z.string().describe('state of the step if there is one, otherwise of the saga'),
    newState: z.string(),
    data: objectData.nullable().describe('for an operator’s action: action, by and why'),
    metadata: objectData
      .nullable()
      .describe('coordinator: its leaseOwner, in the first entry that each coordinator writes'),
    error: sagaFailure.nullable(),
    traceId: z.string().nullable(),
    spanId: z.string().nullable(),
  })
  .meta({ id: 'SagaEvent' })

export const sagaWithSteps = sagaInstance
  .extend({
    input: z.unknown(),
    current: objectData.nullable().describe('outputs of its steps by name, as of its last wait or its end'),
    result: z.unknown(),
    metadata: objectData.nullable(),
    eventCount: z.number().int().describe('number of all events'),
    steps: z.array(sagaStep),
    events: z.array(sagaEvent).describe('the last 1,000, oldest first'),
  })
  .meta({ id: 'SagaWithSteps' })

export const sagaFilter = z.strictObject({
  state: z.enum(sagaMachine.statuses).optional(),
  definition: z.string().min(1).max(255).optional(),
  traceId: z.string().min(1).max(255).optional(),
  awaitingOperator: z.enum(['true']).optional().describe('only sagas that wait for an operator'),
  ...page,
})

/** Leaves room for the caller's key, which is appended in the same column. */
const by = z.string().min(1).max(200).describe('name of the requester; the API key is recorded as well')
const why = z.string().min(1).max(1_000).describe('reason, recorded in the saga’s history')

export const sagaCancel = z.strictObject({ by, why }).meta({ id: 'SagaCancel' })

export const sagaResolution = z
  .strictObject({
    action: z
      .enum(['retry', 'skip', 'resolve'])
      .describe(
        'retry: compensate again; skip: continue without this step; resolve: accept the state as it is',
      ),
    by,
    why,
  })
  .meta({ id: 'SagaResolution' })

export const newSignal = z
  .strictObject({
    name: z.string().meta({ examples: ['payment.received'] }),
    key: z
      .string()
      .describe('key of the signal')
      .meta({ examples: ['order-7'] }),
    payload: z.unknown().optional().describe('up to 64 KiB of JSON'),
  })
  .meta({ id: 'NewSignal' })

export const signalReceipt = z
  .object({
    name: z.string(),
    key: z.string(),
    receivedAt: time,
    expiresAt: time.describe('the signal is kept until then for sagas that wait for it later'),
    duplicate: z.boolean().describe('the signal was already received; the first one counts'),
  })
  .meta({ id: 'SignalReceipt' })
