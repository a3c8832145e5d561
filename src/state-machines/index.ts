export { type DeliveryStatus, deliveryMachine } from './delivery-machine.js'
export { type JobStatus, jobMachine } from './job-machine.js'
export { isFinal, isLegalMove, type StateMachine } from './state-machine.js'
