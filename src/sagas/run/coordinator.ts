import type { Saga } from '../define/index.js'
import type { SagaDefinition } from '../definition.js'
import type { SagaRecord } from '../records.js'
import type { StateStorage } from '../storage/index.js'
import type { StartOptions } from './start-saga.js'

export interface CoordinatorOptions {
  readonly storage: StateStorage
  /** May contain several versions of a definition: running sagas keep theirs. Children are included automatically. */
  readonly definitions: readonly SagaDefinition[]
  /** Called for failures outside of steps: the storage, or rows that fit no definition. */
  readonly onError: (error: Error, sagaId?: string) => void
  readonly leaseMs?: number
  readonly pollMs?: number
  /** The most sagas at once, of all definitions together. */
  readonly concurrency?: number
  /** How long a step may take to end after its signal was aborted. */
  readonly abortGraceMs?: number
}

export interface SagaHandle {
  readonly id: string
  /** False when the key had been used; this is then the first saga. */
  readonly created: boolean
  /** Waits until the saga is finished or Failed. A Running saga that waits for an operator may still continue. */
  result(): Promise<SagaRecord>
}

export interface Coordinator {
  readonly owner: string
  /** The number of sagas that it is running now. */
  readonly running: number
  start<Given, Input, Outputs>(
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: StartOptions,
  ): Promise<SagaHandle>
  /** Looks for work at once. */
  wake(): void
  /** Lets running steps finish until the time-out, and then aborts them. Unfinished sagas are released. */
  stop(options?: { timeoutMs?: number }): Promise<void>
}
