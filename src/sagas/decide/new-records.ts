import { decodeJson } from '../json.js'
import type { NewSaga, NewStep, SagaRecord, StepRecord } from '../records.js'
import { firstInput } from './step-data.js'

/** A new saga's record at a moment of the storage's clock. */
export function newRecord(saga: NewSaga, moment: Date): SagaRecord {
  const { lease, timeoutMs } = saga
  const after = (ms: number) => new Date(moment.getTime() + ms)
  return {
    id: saga.id,
    definitionId: saga.definitionId,
    definitionVersion: saga.definitionVersion,
    idempotencyKey: saga.idempotencyKey,
    name: saga.name ?? null,
    description: saga.description ?? null,
    state: lease?.events ? 'Running' : 'Pending',
    currentStep: 0,
    totalSteps: saga.steps.length,
    input: decodeJson(saga.input),
    current: null,
    result: undefined,
    error: null,
    awaitingOperator: false,
    createdAt: moment,
    updatedAt: moment,
    startedAt: lease?.events ? moment : null,
    completedAt: null,
    timedOutAt: null,
    timeoutMs,
    retryPolicy: saga.retryPolicy,
    metadata: saga.metadata,
    traceId: saga.traceId,
    spanId: saga.spanId,
    wakeAt: after(lease?.leaseMs ?? 0),
    deadlineAt: timeoutMs === null ? null : after(timeoutMs),
    leaseOwner: lease?.owner ?? null,
    leaseUntil: lease ? after(lease.leaseMs) : null,
    version: lease ? 1 : 0,
    eventCount: lease?.events?.length ?? 0,
    cancelRequestedAt: null,
    cancelRequestedBy: null,
    cancelReason: null,
    parentId: saga.parentId ?? null,
    pivotedAt: null,
    publishes: saga.publishes ?? false,
  }
}

/** A new saga's steps; the first one is Running if the saga was begun at once. */
export function newSteps(
  saga: Pick<SagaRecord, 'id' | 'createdAt' | 'state' | 'input'>,
  steps: readonly NewStep[],
): StepRecord[] {
  return steps.map(({ name, maxAttempts, metadata }, index) => {
    const begun = saga.state === 'Running' && index === 0
    const at = begun ? saga.createdAt : null
    return {
      id: stepIdOf(saga.id, index),
      sagaId: saga.id,
      index,
      name,
      state: begun ? 'Running' : 'Pending',
      attempts: begun ? 1 : 0,
      maxAttempts,
      input: begun ? JSON.parse(firstInput(saga.input)) : null,
      output: undefined,
      error: null,
      compensation: null,
      createdAt: saga.createdAt,
      startedAt: at,
      completedAt: null,
      lastAttemptAt: at,
      metadata: metadata ?? null,
      waitsFor: null,
      wakeAt: null,
    }
  })
}

const stepIdOf = (sagaId: string, index: number): string => `${sagaId}:${index}`
