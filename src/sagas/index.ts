export { announceEvents } from './announce-events.js'
export type { Coordinator, CoordinatorOptions } from './coordinator.js'
export { createCoordinator, SAGA_LEASE_MS } from './create-coordinator.js'
export { blindBox, createDataBox, type DataBox } from './data-box.js'
export type { SagaDefinition } from './definition.js'
export { indexDefinitions } from './index-definitions.js'
export { RENEWALS_PER_LEASE } from './keep-leases.js'
export { createMemoryStorage } from './memory-storage.js'
export { type ObservedSaga, observeStorage, type SagaObserver } from './observe-storage.js'
export {
  cleanUpSagas,
  createPostgresStorage,
  isSagaId,
  maintainSagaPartitions,
  maintainSagaTables,
  pageSagas,
  readSagaTables,
  type SagaTables,
  showSaga,
  startOwnSaga,
  toFailure,
} from './postgres/index.js'
export type { SagaChange, SagaEventRecord, SagaRecord, StepRecord } from './records.js'
export { refuseReservedName } from './refuse-reserved-name.js'
export { cancelSaga, resolveSaga } from './resolve-saga.js'
export { runSaga } from './run-saga.js'
export { type Saga, saga } from './saga.js'
export { NonRetryableError } from './saga-error.js'
export { sendSignal } from './send-signal.js'
export { SIGNAL_PAYLOAD_BYTES_MAX } from './signal-name.js'
export { type StartOptions, startSaga } from './start-saga.js'
export type { SignalOutcome, StateStorage, WriteOutcome } from './state-storage.js'
