// The parameters and results of `sagapost.sagas`. As in types.ts, these types depend on no other package.
import type { SagaState } from '../model/index.js'
import type { Saga, SagaFailure, SagaInstance, SagaListFilter, WholeSaga } from './saga-face.js'
import type { Page, QueryClient } from './types.js'

export interface SagaStart {
  /** A repeated start with this key returns the first saga; with another input it throws `idempotency_conflict`. */
  key?: string | undefined
  /** Shown to operators, like the next two, but not passed to steps. Up to 255 characters. */
  name?: string | undefined
  /** Up to 4,000 characters. */
  description?: string | undefined
  metadata?: Record<string, unknown> | undefined
  /** W3C ids of the saga's trace; absent: a new trace. */
  traceId?: string | undefined
  spanId?: string | undefined
}

export interface SagaCancel {
  /** Name of the requester, up to 255 characters. */
  by: string
  /** Up to 1,000 characters. */
  why: string
}

/** An operator's decision on a saga whose compensation failed: retry, skip or resolve; on a Running saga: skip. */
export interface SagaResolution {
  action: 'retry' | 'skip' | 'resolve'
  by: string
  why: string
}

/** `too_late`: the saga is past its pivot, is already being compensated, or has ended; also a child that is done. */
export type SagaCancelOutcome = 'requested' | 'already_requested' | 'too_late'

/** A signal that sagas wait for. Only the first with a name and key counts. */
export interface SagaSignal {
  /** 1 to 100 characters of A–Z, a–z, 0–9, _, . and -, beginning with a letter. */
  name: string
  /** Distinguishes signals of one name; up to 255 characters. */
  key: string
  /** Up to 64 KiB as JSON. */
  payload?: unknown
}

export interface SagaSignalReceipt {
  receivedAt: Date
  /** The signal is kept until then for sagas that wait for it later. */
  expiresAt: Date
  /** The signal had already been received. */
  duplicate: boolean
}

export type SagaEnd<Outputs = Record<string, unknown>> =
  | {
      state: 'Completed'
      /** The output of the last step. */
      result: unknown
      /** The outputs of the steps by name. */
      outputs: Outputs
      error: null
    }
  | {
      /** Failed: a compensation failed permanently, and an operator must resolve the saga. */
      state: Exclude<SagaState, 'Pending' | 'Running' | 'StepCompleted' | 'Compensating' | 'Completed'>
      result: undefined
      outputs: Partial<Outputs>
      error: SagaFailure | null
    }

export interface SagaHandle<Outputs = Record<string, unknown>> {
  readonly id: string
  /** False when the key was already used; this is the saga that it started. */
  readonly created: boolean
  /**
   * Resolves when the saga has ended or is Failed, in whatever process it runs; not while it is Running, even if it waits
   * for an operator. Throws `instance_stopped` if this instance stops.
   */
  result(): Promise<SagaEnd<Outputs>>
  cancel(request: SagaCancel): Promise<SagaCancelOutcome>
}

export interface SagaOperations {
  /** The definition need not run here: any process that has it runs the saga. */
  start<Given, Input, Outputs>(
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: SagaStart,
  ): Promise<SagaHandle<Outputs>>
  /**
   * Starts the saga in the open transaction of `client`: it exists if and only if that commits. The login needs the role
   * saga_app_role. `wake()` after the COMMIT saves the coordinator's poll interval.
   */
  startIn<Given, Input, Outputs>(
    client: QueryClient,
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: SagaStart,
  ): Promise<SagaHandle<Outputs>>
  /** Sends a signal to sagas that wait for it, now or later. Throws `signal_conflict` if sent before with another payload. */
  signal(signal: SagaSignal): Promise<SagaSignalReceipt>
  /**
   * Sends the signal in the open transaction of `client`: it exists if and only if that commits. The login needs the role
   * event_publisher or saga_app_role. `wake()` after the COMMIT saves the coordinator's poll interval.
   */
  signalIn(client: QueryClient, signal: SagaSignal): Promise<SagaSignalReceipt>
  get(id: string): Promise<WholeSaga | null>
  /** Newest first. A page may be shorter than its limit although more follow. */
  list(filter?: SagaListFilter): Promise<Page<SagaInstance>>
  /** Cancels the saga and compensates its completed steps. Throws `saga_not_found`. */
  cancel(id: string, request: SagaCancel): Promise<SagaCancelOutcome>
  /** Throws `saga_not_found` or `saga_not_awaiting_operator`. */
  resolve(id: string, resolution: SagaResolution): Promise<SagaInstance>
  /** Removes ended sagas last changed before this, with their history. Sagas that wait for an operator are kept. */
  cleanUp(olderThan: Date): Promise<number>
}
