/** Re-exports the types of definitions and views for the files of this folder. */
export type {
  Saga,
  SagaDefinition,
  SagaFailure,
  SagaInstance,
  SagaListFilter,
  WholeSaga,
} from '../sagas/face.js'
