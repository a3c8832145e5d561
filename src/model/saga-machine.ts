import type { AuditedMachine } from './saga-event-types.js'

/** The index of each state is its number in saga_instances.state [G1]. */
const sagaStates = [
  'Pending',
  'Running',
  'StepCompleted',
  'Completed',
  'Compensating',
  'Compensated',
  'Failed',
  'Cancelled',
  'TimedOut',
] as const

export type SagaState = (typeof sagaStates)[number]

/**
 * [G1, G6] A general saga. The coordinator that holds its lease moves it; only an operator moves it out of Failed.
 * Failed also ends a saga, once an operator has settled it.
 */
export const sagaMachine: AuditedMachine<SagaState> = {
  statuses: sagaStates,
  initial: 'Pending',
  moves: [
    { from: 'Pending', to: 'Running', when: 'first step begins', events: ['saga.started'] },
    { from: 'Pending', to: 'Cancelled', when: 'cancelled before it began', events: ['saga.cancelled'] },
    { from: 'Pending', to: 'TimedOut', when: 'deadline passed before it began', events: ['saga.timed_out'] },
    { from: 'Running', to: 'StepCompleted', when: 'step done, more follow', events: ['state.changed'] },
    { from: 'StepCompleted', to: 'Running', when: 'next step begins', events: ['state.changed'] },
    { from: 'Running', to: 'Completed', when: 'last step done', events: ['saga.completed'] },
    {
      from: 'Running',
      to: 'Compensating',
      when: 'step failed for good, cancelled, or deadline passed',
      events: ['compensation.started'],
    },
    {
      from: 'StepCompleted',
      to: 'Compensating',
      when: 'cancelled, or deadline passed',
      events: ['compensation.started'],
    },
    {
      from: 'Compensating',
      to: 'Compensated',
      when: 'all undone after a failure',
      events: ['compensation.completed'],
    },
    {
      from: 'Compensating',
      to: 'Cancelled',
      when: 'all undone after a cancel',
      events: ['compensation.completed', 'saga.cancelled'],
    },
    {
      from: 'Compensating',
      to: 'TimedOut',
      when: 'all undone after the deadline',
      events: ['compensation.completed', 'saga.timed_out'],
    },
    {
      from: 'Compensating',
      to: 'Failed',
      when: 'an undo failed for good',
      events: ['compensation.failed', 'saga.failed'],
    },
    { from: 'Failed', to: 'Compensating', when: 'operator retries or skips', events: ['state.changed'] },
  ],
}
