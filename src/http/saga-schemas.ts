import { z } from 'zod'
import { sagaEventTypes, sagaMachine, sagaStepMachine } from '../model/index.js'
import { page, time } from './schemas.js'

const sagaId = z.string().meta({ examples: ['1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a'] })
const objectData = z.record(z.string(), z.unknown())

/** Anything in the place of an id is nobody's: 404, not 400. */
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
    key: z.string().nullable().describe('starting again with the same key finds this saga'),
    name: z.string().nullable().describe('of this one, as its starter told it'),
    description: z.string().nullable(),
    state: z.enum(sagaMachine.statuses),
    currentStep: z.number().int().describe('index of the step that runs, or comes next'),
    totalSteps: z.number().int(),
    error: sagaFailure.nullable(),
    awaitingOperator: z
      .boolean()
      .describe(
        'it waits for an operator: an undo failed for good, or a step waits for what does not come by itself',
      ),
    createdAt: time,
    updatedAt: time,
    startedAt: time.nullable(),
    completedAt: time.nullable(),
    timedOutAt: time.nullable(),
    deadlineAt: time.nullable(),
    wakeAt: time
      .nullable()
      .describe('when it is taken up again: a retry’s or a wait’s time, or the end of its lease'),
    leaseOwner: z.string().nullable().describe('the coordinator that holds it'),
    leaseUntil: time.nullable(),
    cancelRequestedAt: time.nullable(),
    cancelRequestedBy: z.string().nullable(),
    cancelReason: z.string().nullable(),
    traceId: z.string().nullable(),
    spanId: z.string().nullable(),
    parentId: z.string().nullable().describe('the saga that it is a step of'),
    pivotedAt: time.nullable().describe('from then on it only goes forward'),
  })
  .meta({ id: 'Saga' })

const sagaStep = z
  .object({
    index: z.number().int(),
    name: z.string(),
    state: z.enum(sagaStepMachine.statuses),
    attempts: z.number().int(),
    maxAttempts: z.number().int(),
    input: objectData
      .nullable()
      .describe(
        'what was new to it when it began: outputs of the steps right before it, or the saga’s input',
      ),
    output: z.unknown().describe('what it returned; encrypted data is shown as it is kept'),
    progress: objectData
      .nullable()
      .describe('how far it has come, where a step of Sagapost’s own keeps count: RequeueProgress'),
    error: sagaFailure.nullable(),
    createdAt: time,
    startedAt: time.nullable(),
    completedAt: time.nullable(),
    lastAttemptAt: time.nullable(),
    metadata: objectData.nullable().describe('as its definition has it'),
    waitsFor: z
      .string()
      .nullable()
      .describe('what it waits for, or waited for: signal:<name>:<key>, saga:<id> or delivery:<saga>:<step>'),
    wakeAt: time.nullable().describe('when its sleep or its wait ends, or it is tried again'),
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
      .describe('null: nobody has begun to undo it'),
  })
  .meta({ id: 'SagaStep' })

const sagaEvent = z
  .object({
    sequence: z.number().int().describe('from 1, without gaps'),
    type: z.enum(sagaEventTypes),
    stepIndex: z.number().int().nullable().describe('null: it is about the saga itself'),
    timestamp: time,
    oldState: z.string().describe('of the step if there is one, else of the saga'),
    newState: z.string(),
    data: objectData.nullable().describe('of an operator’s action: action, by and why'),
    metadata: objectData
      .nullable()
      .describe('coordinator, in the first entry that each one writes: its leaseOwner'),
    error: sagaFailure.nullable(),
    traceId: z.string().nullable(),
    spanId: z.string().nullable(),
  })
  .meta({ id: 'SagaEvent' })

export const sagaWithSteps = sagaInstance
  .extend({
    input: z.unknown(),
    current: objectData
      .nullable()
      .describe('what its steps had returned, by their names, when it last began to wait, or ended'),
    result: z.unknown(),
    metadata: objectData.nullable(),
    eventCount: z.number().int().describe('of all events there are'),
    steps: z.array(sagaStep),
    events: z.array(sagaEvent).describe('the last 1,000, oldest first'),
  })
  .meta({ id: 'SagaWithSteps' })

export const sagaFilter = z.strictObject({
  state: z.enum(sagaMachine.statuses).optional(),
  definition: z.string().min(1).max(255).optional(),
  traceId: z.string().min(1).max(255).optional(),
  awaitingOperator: z.enum(['true']).optional().describe('those only that wait for an operator'),
  ...page,
})

/** The key of the caller is put behind it, so that both fit into the column. */
const by = z.string().min(1).max(200).describe('who asks; the API key is recorded as well')
const why = z.string().min(1).max(1_000).describe('goes into the saga’s history')

export const sagaCancel = z.strictObject({ by, why }).meta({ id: 'SagaCancel' })

export const sagaResolution = z
  .strictObject({
    action: z
      .enum(['retry', 'skip', 'resolve'])
      .describe('retry: compensate again; skip: continue without this step; resolve: accept the state as it is'),
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
    expiresAt: time.describe('it is kept until then for sagas that wait for it later'),
    duplicate: z.boolean().describe('it had come before; the first one counts'),
  })
  .meta({ id: 'SignalReceipt' })
