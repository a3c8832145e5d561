export {
  type Coordinator,
  type CoordinatorOptions,
  createCoordinator,
  type SagaHandle,
} from './create-coordinator.js'
export { blindBox, createDataBox, type DataBox } from './data-box.js'
export type {
  CompensateContext,
  CompensationMode,
  SagaDefinition,
  StepContext,
  StepTransaction,
  TransactionContext,
} from './definition.js'
export { indexDefinitions } from './index-definitions.js'
export { createMemoryStorage, type MemoryStorageOptions } from './memory-storage.js'
export { type ObservedSaga, observeStorage, type SagaObserver } from './observe-storage.js'
export type { Resolution } from './plan-resolution.js'
export {
  cleanUpSagas,
  createPostgresStorage,
  isSagaId,
  type PostgresStorageOptions,
  pageSagas,
  showSaga,
  toFailure,
} from './postgres/index.js'
export type { SagaChange, SagaEventRecord, SagaRecord, StepRecord } from './records.js'
export { HistoryBrokenError, type ReplayedSaga, replayHistory } from './replay-history.js'
export { cancelSaga, resolveSaga } from './resolve-saga.js'
export type { RetryOptions } from './retry-policy.js'
export { runSaga } from './run-saga.js'
export { type Saga, type SagaOptions, saga } from './saga.js'
export { NonRetryableError, type SagaError } from './saga-error.js'
export type {
  SagaEvent,
  SagaFailure,
  SagaInstance,
  SagaListFilter,
  SagaStep,
  WholeSaga,
} from './saga-view.js'
export { type StartOptions, startSaga } from './start-saga.js'
export type { CancelOutcome, CancelRequest, SagaFilter, StateStorage, WriteOutcome } from './state-storage.js'
