export {
  type Coordinator,
  type CoordinatorOptions,
  createCoordinator,
  type SagaHandle,
} from './create-coordinator.js'
export { createDataBox, type DataBox } from './data-box.js'
export type {
  CompensateContext,
  CompensationMode,
  SagaDefinition,
  StepContext,
  StepTransaction,
  TransactionContext,
} from './definition.js'
export { createMemoryStorage, type MemoryStorageOptions } from './memory-storage.js'
export type { Resolution } from './plan-resolution.js'
export {
  createPostgresStorage,
  maintainSagaTables,
  type PostgresStorageOptions,
  readSagaTables,
  type SagaMaintenance,
  type SagaTables,
  sagaMaintenanceTasks,
} from './postgres/index.js'
export type { SagaEventRecord, SagaRecord, StepRecord } from './records.js'
export { HistoryBrokenError, type ReplayedSaga, replayHistory } from './replay-history.js'
export { cancelSaga, resolveSaga } from './resolve-saga.js'
export type { RetryOptions } from './retry-policy.js'
export { type Saga, type SagaOptions, saga } from './saga.js'
export { NonRetryableError, type SagaError } from './saga-error.js'
export { type StartOptions, startSaga } from './start-saga.js'
export type {
  CancelOutcome,
  CancelRequest,
  CleanUpOptions,
  SagaFilter,
  StateStorage,
} from './state-storage.js'
