export { blindBox, createDataBox, type DataBox } from './data-box.js'
export { indexDefinitions, refuseReservedName, saga } from './define/index.js'
export type { SagaDefinition } from './definition.js'
export type { SagaChange, SagaEventRecord, SagaRecord, StepRecord } from './records.js'
export {
  announceEvents,
  type Coordinator,
  cancelSaga,
  createCoordinator,
  observeSagas,
  observeStorage,
  RENEWALS_PER_LEASE,
  resolveSaga,
  runSaga,
  SAGA_LEASE_MS,
  type SagaRecorders,
  type StartOptions,
  sendSignal,
  startOwnSaga,
  startSaga,
} from './run/index.js'
export { SIGNAL_PAYLOAD_BYTES_MAX } from './signal-name.js'
export {
  cleanUpSagas,
  createMemoryStorage,
  createPostgresStorage,
  isSagaId,
  maintainSagaPartitions,
  maintainSagaTables,
  pageSagas,
  readSagaTables,
  type SagaTables,
  type SignalOutcome,
  type StateStorage,
  showSaga,
  toFailure,
  type WriteOutcome,
} from './storage/index.js'
