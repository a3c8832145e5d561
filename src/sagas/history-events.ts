import type { SagaEventType } from '../model/index.js'
import { sagaMachine, sagaStepMachine } from '../model/index.js'
import type { SagaEventRecord, SagaRecord, StepRecord } from './records.js'

// A user's compiler reads this file, as it does definition.ts.

/** The payload of an event that a saga with `publish: true` stores: one entry of its history. */
export interface SagaHistoryEvent {
  readonly sagaId: string
  /** The name of the definition. */
  readonly definition: string
  readonly version: number
  /** The position in the saga's history, from 1, without gaps. Webhooks may arrive in another order. */
  readonly sequence: number
  /** The type in the history; the event's type prefixes it with `saga.`. */
  readonly type: SagaEventType
  /** Null for an entry about the saga itself, whose states are then the saga's. */
  readonly step: string | null
  readonly stepIndex: number | null
  readonly oldState: string
  readonly newState: string
  /** RFC 3339, by the database's clock. */
  readonly at: string
  /** `attempt`, `cause`, `action`, `waits_for`: details of the entry. */
  readonly data: Record<string, unknown> | null
  readonly errorCode: string | null
  readonly parentId: string | null
  readonly traceId: string | null
  readonly spanId: string | null
}

/** What an operator said, and who, is not published. */
const PRIVATE = ['by', 'why']

/** Equivalent of sagapost.publish_saga_history in migrations/0012, for the storage in memory. */
export function toHistoryEvent(
  { saga, steps }: { readonly saga: SagaRecord; readonly steps: readonly Pick<StepRecord, 'name'>[] },
  entry: SagaEventRecord,
): { type: string; payload: SagaHistoryEvent } {
  const { type, stepIndex, sequence, timestamp, oldState, newState, data, error, traceId, spanId } = entry
  const { statuses } = stepIndex === null ? sagaMachine : sagaStepMachine
  const open = data && Object.entries(data).filter(([key]) => !PRIVATE.includes(key))
  return {
    type: eventTypeOf(entry),
    payload: {
      sagaId: saga.id,
      definition: saga.definitionId,
      version: saga.definitionVersion,
      sequence,
      type,
      step: stepIndex === null ? null : (steps[stepIndex]?.name ?? null),
      stepIndex,
      oldState: statuses[oldState] ?? '',
      newState: statuses[newState] ?? '',
      at: timestamp.toISOString(),
      data: open && Object.fromEntries(open),
      errorCode: error?.code ?? null,
      parentId: saga.parentId,
      traceId,
      spanId,
    },
  }
}

/** All types begin with `saga.`; the end of a saga that was undone has its own type. */
function eventTypeOf({ type, stepIndex, newState }: SagaEventRecord): string {
  const compensated = sagaMachine.statuses.indexOf('Compensated')
  if (type === 'compensation.completed' && stepIndex === null && newState === compensated) {
    return 'saga.compensated'
  }
  return type.startsWith('saga.') ? type : `saga.${type}`
}
