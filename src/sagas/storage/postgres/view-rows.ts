import { type SagaState, type SagaStepState, sagaMachine, sagaStepMachine } from '../../../model/index.js'
import type { SagaError } from '../../saga-error.js'
import type { SagaEvent, SagaFailure, SagaInstance, SagaStep } from '../../saga-view.js'
import type { EventRow, SagaRow, StepRow } from './rows.js'

/** The form that coordinators create; ids written by SQL may be any text that fits into a cursor. */
export function isSagaId(id: string): boolean {
  return /^[\x21-\x7e]{1,255}$/.test(id)
}

/** A row without its data. */
export type InstanceRow = Omit<
  SagaRow,
  | 'initial_data'
  | 'current_data'
  | 'result_data'
  | 'metadata'
  | 'retry_policy'
  | 'timeout_ms'
  | 'version'
  | 'event_count'
>

export function toInstance(row: InstanceRow): SagaInstance {
  return {
    id: row.id,
    definition: row.definition_id,
    definitionVersion: row.definition_version,
    key: row.idempotency_key,
    name: row.name,
    description: row.description,
    state: sagaMachine.statuses[row.state] as SagaState,
    currentStep: row.current_step,
    totalSteps: row.total_steps,
    error: toFailure(row.error),
    awaitingOperator: row.awaiting_operator,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    timedOutAt: row.timed_out_at,
    deadlineAt: row.deadline_at,
    wakeAt: row.wake_at,
    leaseOwner: row.lease_owner,
    leaseUntil: row.lease_until,
    cancelRequestedAt: row.cancel_requested_at,
    cancelRequestedBy: row.cancel_requested_by,
    cancelReason: row.cancel_reason,
    traceId: row.trace_id,
    spanId: row.span_id,
    parentId: row.parent_id,
    pivotedAt: row.pivoted_at,
  }
}

export function toStepView(row: StepRow, output: unknown): SagaStep {
  const { compensation_state: undo } = row
  return {
    index: row.step_index,
    name: row.name,
    state: sagaStepMachine.statuses[row.state] as SagaStepState,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    input: row.input_data,
    output,
    progress: row.progress,
    error: toFailure(row.error),
    createdAt: row.created_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    lastAttemptAt: row.last_attempt_at,
    metadata: row.metadata,
    waitsFor: row.waits_for,
    wakeAt: row.wake_at,
    compensation: undo && {
      state: sagaStepMachine.statuses[undo.state] as SagaStepState,
      attempts: undo.attempts,
      maxAttempts: undo.max_attempts,
      startedAt: undo.started_at,
      completedAt: undo.completed_at,
      error: toFailure(undo.error),
    },
  }
}

export function toEventView(row: EventRow): SagaEvent {
  const { statuses } = row.step_index === null ? sagaMachine : sagaStepMachine
  return {
    sequence: row.sequence,
    type: row.event_type,
    stepIndex: row.step_index,
    timestamp: row.timestamp,
    oldState: statuses[row.old_state] as SagaState,
    newState: statuses[row.new_state] as SagaState,
    data: row.event_data,
    metadata: row.metadata,
    error: toFailure(row.error),
    traceId: row.trace_id,
    spanId: row.span_id,
  }
}

export function toFailure(error: SagaError | null): SagaFailure | null {
  if (error === null) return null
  return {
    code: error.code,
    message: error.message,
    type: error.type ?? null,
    retryable: error.retryable ?? null,
    timestamp: error.timestamp ?? null,
    stackTrace: error.stack_trace ?? null,
    details: error.details ?? null,
    cause: toFailure(error.cause ?? null),
  }
}
