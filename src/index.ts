/** The package's public face: `import { Sagapost } from 'sagapost'`. What is not exported here may change any day. */
export * from './embedding/index.js'
export { type ErrorCode, SagapostError } from './errors/index.js'
export type {
  DeliveryStatus,
  JobStatus,
  SagaEventType,
  SagaState,
  SagaStepState,
} from './model/index.js'
export * from './sagas/face.js'
