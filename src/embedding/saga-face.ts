/** The types of definitions and of what is read, under a name that this folder's files may import. */
export type {
  Saga,
  SagaDefinition,
  SagaFailure,
  SagaInstance,
  SagaListFilter,
  WholeSaga,
} from '../sagas/face.js'
