import type { StateMachine } from './state-machine.js'

/** [G6] Every event type of a saga's history. The schema has the same list (migrations/0010). */
export const sagaEventTypes = [
  'saga.started',
  'saga.step.started',
  'saga.step.completed',
  'saga.step.failed',
  'saga.completed',
  'saga.failed',
  'saga.cancelled',
  'saga.timed_out',
  'compensation.started',
  'compensation.step.started',
  'compensation.step.completed',
  'compensation.step.failed',
  'compensation.completed',
  'compensation.failed',
  'retry.attempted',
  'retry.exhausted',
  'state.changed',
] as const

export type SagaEventType = (typeof sagaEventTypes)[number]

/**
 * A move and the events it writes, in order [G6]. The last of `events` carries the move (old and new state); those
 * before it keep the old state. `after` may follow, at the new state.
 */
interface AuditedMove<Status extends string> {
  readonly from: Status
  readonly to: Status
  readonly when: string
  readonly events: readonly [SagaEventType, ...SagaEventType[]]
  readonly after?: readonly SagaEventType[]
}

export interface AuditedMachine<Status extends string> extends StateMachine<Status> {
  readonly moves: readonly AuditedMove<Status>[]
}
