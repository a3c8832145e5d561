import type { AuditedMachine } from './saga-event-types.js'

/** The index of each state is its number in saga_steps.state [G2]. */
const sagaStepStates = [
  'Pending',
  'Running',
  'Completed',
  'Failed',
  'Compensating',
  'Compensated',
  'Skipped',
] as const

export type SagaStepState = (typeof sagaStepStates)[number]

/**
 * [G2, G6] A step of a general saga. A compensation that fails and is retried stays in Compensating: compensation_state
 * counts its attempts.
 */
export const sagaStepMachine: AuditedMachine<SagaStepState> = {
  statuses: sagaStepStates,
  initial: 'Pending',
  moves: [
    { from: 'Pending', to: 'Running', when: 'run begins', events: ['saga.step.started'] },
    { from: 'Pending', to: 'Skipped', when: 'never reached, or not needed', events: ['state.changed'] },
    { from: 'Running', to: 'Completed', when: 'run succeeded', events: ['saga.step.completed'] },
    {
      from: 'Running',
      to: 'Failed',
      when: 'run failed, timed out or was interrupted',
      events: ['saga.step.failed'],
      after: ['retry.exhausted'],
    },
    {
      from: 'Running',
      to: 'Skipped',
      when: 'operator gives up what it waits for',
      events: ['state.changed'],
    },
    { from: 'Failed', to: 'Running', when: 'retry', events: ['retry.attempted', 'saga.step.started'] },
    { from: 'Completed', to: 'Compensating', when: 'undo begins', events: ['compensation.step.started'] },
    {
      from: 'Failed',
      to: 'Compensating',
      when: 'undo of a run in doubt begins, or an operator retries',
      events: ['compensation.step.started'],
    },
    {
      from: 'Compensating',
      to: 'Compensated',
      when: 'undone',
      events: ['compensation.step.completed'],
    },
    {
      from: 'Compensating',
      to: 'Failed',
      when: 'undo failed for good',
      events: ['compensation.step.failed'],
      after: ['retry.exhausted'],
    },
    { from: 'Failed', to: 'Skipped', when: 'operator skips the undo', events: ['state.changed'] },
  ],
}
