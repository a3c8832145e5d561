/** The types of definitions, importable by this folder's files without leading a user's compiler to `pg`. */
export type { Saga, SagaDefinition, StepTransaction } from '../sagas/face.js'
