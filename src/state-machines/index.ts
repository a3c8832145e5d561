export { type DeliveryStatus, deliveryMachine } from './delivery-machine.js'
export { type JobStatus, jobMachine } from './job-machine.js'
export {
  type AuditedMachine,
  type SagaEventType,
  sagaEventTypes,
} from './saga-event-types.js'
export { type SagaState, sagaMachine } from './saga-machine.js'
export { type SagaStepState, sagaStepMachine } from './saga-step-machine.js'
export { isFinal, type StateMachine } from './state-machine.js'
