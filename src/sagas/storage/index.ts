export { createMemoryStorage } from './memory/index.js'
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
  toFailure,
  toStartParameter,
} from './postgres/index.js'
export type {
  ArrivedSignal,
  AwaitedDeliveries,
  CancelOutcome,
  CancelRequest,
  ClaimRequest,
  SignalName,
  SignalOutcome,
  StartOutcome,
  StateStorage,
  WriteOutcome,
} from './state-storage.js'
