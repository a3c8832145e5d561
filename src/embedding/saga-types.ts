// What `sagapost.sagas` takes and returns. As in types.ts, nothing here leads a user's compiler to another package.
import type { SagaState } from '../model/index.js'
import type { Saga, SagaFailure, SagaInstance, SagaListFilter, WholeSaga } from './saga-face.js'
import type { Page, QueryClient } from './types.js'

export interface SagaStart {
  /** Starting again with the same key finds the first one; with another input it throws `idempotency_conflict`. */
  key?: string | undefined
  /** Shown to operators, as are the two below; never to the steps. Up to 255 characters. */
  name?: string | undefined
  /** Up to 4,000 characters. */
  description?: string | undefined
  metadata?: Record<string, unknown> | undefined
  /** W3C ids of the trace that the saga belongs to; absent: a new one. */
  traceId?: string | undefined
  spanId?: string | undefined
}

export interface SagaCancel {
  /** Who asks, up to 255 characters. */
  by: string
  /** Up to 1,000 characters. */
  why: string
}

/** An operator's word on a saga whose undo failed: try again, go on without, or leave it as it is. On a Running one: go on without. */
export interface SagaResolution {
  action: 'retry' | 'skip' | 'resolve'
  by: string
  why: string
}

/** `too_late`: it is past its pivot, is being undone already, or has ended; a child also when it has done its part. */
export type SagaCancelOutcome = 'requested' | 'already_requested' | 'too_late'

/** A fact that sagas wait for: the first one of a name and key counts. */
export interface SagaSignal {
  /** 1 to 100 of A–Z, a–z, 0–9, _, . and -, a letter first. */
  name: string
  /** Which of this name: up to 255 characters. */
  key: string
  /** Up to 64 KiB as JSON. */
  payload?: unknown
}

export interface SagaSignalReceipt {
  receivedAt: Date
  /** It is kept until then for sagas that wait for it later. */
  expiresAt: Date
  /** It had come before. */
  duplicate: boolean
}

export type SagaEnd<Outputs = Record<string, unknown>> =
  | {
      state: 'Completed'
      /** What the last step returned. */
      result: unknown
      /** What the steps returned, by their names. */
      outputs: Outputs
      error: null
    }
  | {
      /** Failed: an undo failed for good, and an operator has to say what becomes of it. */
      state: Exclude<SagaState, 'Pending' | 'Running' | 'StepCompleted' | 'Compensating' | 'Completed'>
      result: undefined
      outputs: Partial<Outputs>
      error: SagaFailure | null
    }

export interface SagaHandle<Outputs = Record<string, unknown>> {
  readonly id: string
  /** False: the key had been used, and this is the saga that it started. */
  readonly created: boolean
  /**
   * Waits until it has ended or is Failed, wherever it runs: not for one that is Running, also when that waits for an
   * operator. Throws `instance_stopped` if this one stops.
   */
  result(): Promise<SagaEnd<Outputs>>
  cancel(request: SagaCancel): Promise<SagaCancelOutcome>
}

export interface SagaOperations {
  /** The definition need not be run here: whichever process has it takes the saga up. */
  start<Given, Input, Outputs>(
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: SagaStart,
  ): Promise<SagaHandle<Outputs>>
  /**
   * In the transaction that is open on `client`: there is a saga if and only if that commits. Its login needs the role
   * saga_app_role. `wake()` after the COMMIT saves the time until somebody looks.
   */
  startIn<Given, Input, Outputs>(
    client: QueryClient,
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: SagaStart,
  ): Promise<SagaHandle<Outputs>>
  /** For the sagas that wait for it, now or later. Throws `signal_conflict` when it has come with another payload. */
  signal(signal: SagaSignal): Promise<SagaSignalReceipt>
  /**
   * In the transaction that is open on `client`: it is there if and only if that commits. Its login needs the role
   * event_publisher or saga_app_role. `wake()` after the COMMIT saves the time until somebody looks.
   */
  signalIn(client: QueryClient, signal: SagaSignal): Promise<SagaSignalReceipt>
  get(id: string): Promise<WholeSaga | null>
  /** Newest first. A page may be shorter than its limit and still have a next one. */
  list(filter?: SagaListFilter): Promise<Page<SagaInstance>>
  /** Stops what runs and undoes what was done. Throws `saga_not_found`. */
  cancel(id: string, request: SagaCancel): Promise<SagaCancelOutcome>
  /** Throws `saga_not_found` or `saga_not_awaiting_operator`. */
  resolve(id: string, resolution: SagaResolution): Promise<SagaInstance>
  /** Removes ended sagas that were last changed before this, with their history; those that wait for an operator stay. */
  cleanUp(olderThan: Date): Promise<number>
}
