import {
  type SagaEventType,
  type SagaState,
  type SagaStepState,
  sagaMachine,
  sagaStepMachine,
} from '../../../model/index.js'
import type { DataBox } from '../../data-box.js'
import { openCopy, openError } from '../../error-box.js'
import { decodeJson } from '../../json.js'
import type { CompensationState, SagaEventRecord, SagaRecord, StepRecord } from '../../records.js'
import type { RetryPolicy } from '../../retry-policy.js'
import type { SagaError } from '../../saga-error.js'

/** Data is read as text, to distinguish SQL's null from JSON's. */
export interface SagaRow {
  id: string
  definition_id: string
  definition_version: number
  idempotency_key: string | null
  name: string | null
  description: string | null
  state: number
  current_step: number
  total_steps: number
  initial_data: string | null
  current_data: Record<string, unknown> | null
  result_data: string | null
  error: SagaError | null
  awaiting_operator: boolean
  created_at: Date
  updated_at: Date
  started_at: Date | null
  completed_at: Date | null
  timed_out_at: Date | null
  timeout_ms: string | null
  retry_policy: RetryPolicy | null
  metadata: Record<string, unknown> | null
  trace_id: string | null
  span_id: string | null
  wake_at: Date | null
  deadline_at: Date | null
  lease_owner: string | null
  lease_until: Date | null
  version: string
  event_count: number
  cancel_requested_at: Date | null
  cancel_requested_by: string | null
  cancel_reason: string | null
  parent_id: string | null
  pivoted_at: Date | null
  publishes: boolean
}

export interface StepRow {
  id: string
  saga_id: string
  step_index: number
  name: string
  state: number
  attempts: number
  max_attempts: number
  input_data: Record<string, unknown> | null
  output_data: string | null
  progress: Record<string, unknown> | null
  error: SagaError | null
  compensation_state: CompensationState | null
  created_at: Date
  started_at: Date | null
  completed_at: Date | null
  last_attempt_at: Date | null
  metadata: Record<string, unknown> | null
  waits_for: string | null
  wake_at: Date | null
}

export interface EventRow {
  saga_id: string
  sequence: number
  event_type: SagaEventType
  step_index: number | null
  timestamp: Date
  old_state: number
  new_state: number
  event_data: Record<string, unknown> | null
  metadata: Record<string, unknown> | null
  error: SagaError | null
  trace_id: string | null
  span_id: string | null
}

export function toSaga(row: SagaRow, box: DataBox): SagaRecord {
  const read = (column: 'initial_data' | 'result_data') => {
    const text = row[column]
    return text === null ? undefined : decodeJson(box.open(text, { sagaId: row.id, column }))
  }
  const shown = openSagaRow(row, box)
  return {
    id: row.id,
    definitionId: row.definition_id,
    definitionVersion: row.definition_version,
    idempotencyKey: row.idempotency_key,
    name: row.name,
    description: row.description,
    state: sagaMachine.statuses[row.state] as SagaState,
    currentStep: row.current_step,
    totalSteps: row.total_steps,
    input: read('initial_data'),
    current: shown.current_data,
    result: read('result_data'),
    error: shown.error,
    awaitingOperator: row.awaiting_operator,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    timedOutAt: row.timed_out_at,
    timeoutMs: row.timeout_ms === null ? null : Number(row.timeout_ms),
    retryPolicy: row.retry_policy,
    metadata: row.metadata,
    traceId: row.trace_id,
    spanId: row.span_id,
    wakeAt: row.wake_at,
    deadlineAt: row.deadline_at,
    leaseOwner: row.lease_owner,
    leaseUntil: row.lease_until,
    version: Number(row.version),
    eventCount: row.event_count,
    cancelRequestedAt: row.cancel_requested_at,
    cancelRequestedBy: row.cancel_requested_by,
    cancelReason: row.cancel_reason,
    parentId: row.parent_id,
    pivotedAt: row.pivoted_at,
    publishes: row.publishes,
  }
}

export function toStep(row: StepRow, box: DataBox): StepRecord {
  const place = { sagaId: row.saga_id, column: 'output_data', stepIndex: row.step_index } as const
  const shown = openStepRow(row, box)
  return {
    id: row.id,
    sagaId: row.saga_id,
    index: row.step_index,
    name: row.name,
    state: sagaStepMachine.statuses[row.state] as SagaStepState,
    attempts: row.attempts,
    maxAttempts: row.max_attempts,
    input: shown.input_data,
    output: row.output_data === null ? undefined : decodeJson(box.open(row.output_data, place)),
    error: shown.error,
    compensation: shown.compensation_state,
    createdAt: row.created_at,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    lastAttemptAt: row.last_attempt_at,
    metadata: row.metadata,
    waitsFor: row.waits_for,
    wakeAt: row.wake_at,
  }
}

/** Opens the data that is only displayed, as far as the box can. */
export function openSagaRow(row: SagaRow, box: DataBox): SagaRow {
  const place = { sagaId: row.id, column: 'current_data' } as const
  return {
    ...row,
    current_data: openCopy(row.current_data, place, box),
    error: openError(row.error, row.id, box),
  }
}

export function openStepRow(row: StepRow, box: DataBox): StepRow {
  const { saga_id: sagaId, step_index: stepIndex, compensation_state: undo } = row
  return {
    ...row,
    input_data: openCopy(row.input_data, { sagaId, column: 'input_data', stepIndex }, box),
    error: openError(row.error, sagaId, box),
    compensation_state: undo && {
      ...{ started_at: null, completed_at: null },
      ...undo,
      error: openError(undo.error ?? null, sagaId, box),
    },
  }
}

export function openEventRow(row: EventRow, box: DataBox): EventRow {
  return { ...row, error: openError(row.error, row.saga_id, box) }
}

export function toEvent(row: EventRow, box: DataBox): SagaEventRecord {
  return {
    sagaId: row.saga_id,
    sequence: row.sequence,
    type: row.event_type,
    stepIndex: row.step_index,
    timestamp: row.timestamp,
    oldState: row.old_state,
    newState: row.new_state,
    data: row.event_data,
    metadata: row.metadata,
    error: openEventRow(row, box).error,
    traceId: row.trace_id,
    spanId: row.span_id,
  }
}
