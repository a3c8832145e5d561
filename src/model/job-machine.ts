import type { StateMachine } from './state-machine.js'

const jobStatuses = ['Pending', 'Leased', 'Completed', 'Failed'] as const

export type JobStatus = (typeof jobStatuses)[number]

/** [J12] A job, which is one attempt. Workers and the Lease Reset Cleaner move it. */
export const jobMachine: StateMachine<JobStatus> = {
  statuses: jobStatuses,
  initial: 'Pending',
  moves: [
    { from: 'Pending', to: 'Leased', when: 'claimed by a worker' },
    { from: 'Leased', to: 'Completed', when: 'delivered' },
    { from: 'Leased', to: 'Failed', when: 'not delivered, or lease lost too often' },
    { from: 'Leased', to: 'Pending', when: 'lease ran out, or released' },
  ],
}
