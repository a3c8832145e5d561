/** The types of definitions, under a name that this folder's files may import without leading a user's compiler to `pg`. */
export type { Saga, SagaDefinition, StepTransaction } from '../sagas/face.js'
