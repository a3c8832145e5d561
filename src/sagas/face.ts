/**
 * The part of this folder that users of the package see. Separate from index.ts because a user's compiler follows every
 * import of a declaration, and `pg`'s types may not be installed there.
 */

export { type Saga, type SagaOptions, saga } from './define/saga.js'
export type {
  CompensateContext,
  CompensationMode,
  EventToDeliver,
  ReadyContext,
  SagaDefinition,
  StepContext,
  StepTransaction,
  TransactionContext,
} from './definition.js'
export type { SagaHistoryEvent } from './history-events.js'
export type { RetryOptions } from './retry-policy.js'
export { NonRetryableError } from './saga-error.js'
export type {
  SagaEvent,
  SagaFailure,
  SagaInstance,
  SagaListFilter,
  SagaStep,
  WholeSaga,
} from './saga-view.js'
export type { StandardSchema } from './standard-schema.js'
