import type { Saga } from '../define/index.js'
import type { SagaDefinition } from '../definition.js'
import type { SagaRecord } from '../records.js'
import type { StateStorage } from '../storage/index.js'
import type { StartOptions } from './start-saga.js'

export interface CoordinatorOptions {
  readonly storage: StateStorage
  /** Several versions of one are welcome: running sagas stay on theirs. Children come along by themselves. */
  readonly definitions: readonly SagaDefinition[]
  /** What went wrong outside of the steps: the storage, rows that fit no definition. */
  readonly onError: (error: Error, sagaId?: string) => void
  readonly leaseMs?: number
  readonly pollMs?: number
  /** Sagas at once, of all definitions. */
  readonly concurrency?: number
  /** How long a step may take to end once its signal was aborted. */
  readonly abortGraceMs?: number
}

export interface SagaHandle {
  readonly id: string
  /** False: the key had been used, and this is the first one. */
  readonly created: boolean
  /** Waits until it is finished, or Failed: one that is Running and waits for an operator may yet go on. */
  result(): Promise<SagaRecord>
}

export interface Coordinator {
  readonly owner: string
  /** How many it runs at the moment. */
  readonly running: number
  start<Given, Input, Outputs>(
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: StartOptions,
  ): Promise<SagaHandle>
  /** There may be work: looks at once. */
  wake(): void
  /** Lets steps that run finish, up to the time-out; then they are aborted. What is not finished is let go. */
  stop(options?: { timeoutMs?: number }): Promise<void>
}
