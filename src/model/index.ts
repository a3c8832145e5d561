export {
  defaultEventLimits,
  type EventCheck,
  type EventRefusal,
  type NewEvent,
  refuseEvent,
} from './check-event.js'
export { type DeliveryStatus, deliveryMachine } from './delivery-machine.js'
export { checkEventType } from './event-type.js'
export { type JobStatus, jobMachine } from './job-machine.js'
export { PAYLOAD_BYTES_READ_MAX } from './payload-limits.js'
export { type AuditedMachine, type SagaEventType, sagaEventTypes } from './saga-event-types.js'
export { type SagaState, sagaMachine } from './saga-machine.js'
export { type SagaStepState, sagaStepMachine } from './saga-step-machine.js'
export { isFinal } from './state-machine.js'
export { eventIdIn, eventTimeUs, webhookIdOf } from './webhook-id.js'
