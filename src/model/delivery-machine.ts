import type { StateMachine } from './state-machine.js'

const deliveryStatuses = ['Pending', 'InProgress', 'PendingRetry', 'Completed', 'DeadLettered'] as const

export type DeliveryStatus = (typeof deliveryStatuses)[number]

/** [S5] A delivery saga. Only the orchestrator moves it [S6]. */
export const deliveryMachine: StateMachine<DeliveryStatus> = {
  statuses: deliveryStatuses,
  initial: 'Pending',
  moves: [
    { from: 'Pending', to: 'InProgress', when: 'first job made' },
    { from: 'InProgress', to: 'Completed', when: 'job succeeded' },
    { from: 'InProgress', to: 'PendingRetry', when: 'job failed' },
    { from: 'PendingRetry', to: 'InProgress', when: 'due, under the limit: new job' },
    { from: 'PendingRetry', to: 'DeadLettered', when: 'limit reached' },
  ],
}
