import type { SagaState } from '../../model/index.js'
import type { DataUnreadableError } from '../data-box.js'
import type { SagaDefinition, StepTransaction } from '../definition.js'
import type {
  ClaimedSaga,
  NewSaga,
  SagaChange,
  SagaEventRecord,
  SagaRecord,
  Signals,
  StepRecord,
} from '../records.js'

export interface StartOutcome {
  /** False when the key was used before; this is then the first saga. */
  readonly created: boolean
  readonly saga: SagaRecord
}

/** Refused: the lease was lost, or the token is outdated. Nothing was written. */
export type WriteOutcome =
  | ({ readonly applied: true /** By the storage's clock. */; readonly moment: Date } & Signals)
  | { readonly applied: false }

export type TransactOutcome =
  | { readonly outcome: 'committed'; readonly signals: Signals & { readonly moment: Date } }
  | { readonly outcome: 'failed'; readonly error: unknown }
  /** Nothing was written, but not because of the step: no connection, or our own tables refused the checkpoint. */
  | { readonly outcome: 'unavailable'; readonly error: unknown }
  | { readonly outcome: 'refused' }

export interface SagaFilter {
  readonly states?: readonly SagaState[]
  readonly definitionId?: string
  readonly traceId?: string
  readonly awaitingOperator?: boolean
  readonly limit?: number
  /** For the next page: the last saga of the previous page. Only sagas created before it are listed. */
  readonly before?: { readonly createdAt: Date; readonly id: string }
}

export interface ClaimRequest {
  readonly owner: string
  readonly leaseMs: number
  readonly limit: number
  /** Only these versions of these definitions, each up to its own limit. */
  readonly definitions: readonly { readonly name: string; readonly version: number; readonly limit: number }[]
}

export interface CancelRequest {
  readonly by: string
  readonly reason: string
  /** Requested by its parent: allowed even when all its steps are done. */
  readonly asParent?: boolean
}

export interface NewSignal {
  readonly name: string
  readonly key: string
  /** As JSON. */
  readonly payload: string | undefined
}

export type SignalName = Pick<NewSignal, 'name' | 'key'>

export interface SignalOutcome {
  /** False when a signal of this name and key exists, which is then the one that counts. */
  readonly created: boolean
  readonly receivedAt: Date
  readonly expiresAt: Date
  /**
   * Whether the payload equals that of the signal that counts; undefined: it is encrypted and cannot be compared here.
   */
  readonly same: boolean | undefined
}

/** A signal that has arrived. */
export type ArrivedSignal = { readonly payload: unknown } | { readonly unreadable: DataUnreadableError }

/** A step that waits for the deliveries of an event. */
export interface AwaitingStep {
  readonly sagaId: string
  readonly stepIndex: number
}

/** The state of these deliveries; a requeued delivery counts as its successor. */
export interface AwaitedDeliveries {
  readonly eventId: string
  /** `dead`: some are dead letters, whatever happens to the others. `gone`: the event no longer exists. */
  readonly standing: 'open' | 'completed' | 'dead' | 'gone'
  readonly completed: number
  readonly dead: number
}

export type CancelOutcome = 'requested' | 'already_requested' | 'too_late' | 'not_found'

/** The work there is, and when. */
export interface Outlook {
  /** Whether `passNewsOn` would find something. */
  readonly news: boolean
  /**
   * The time until the next saga of these definitions is due: 0 when one is due now; null when none will be by time.
   */
  readonly dueInMs: number | null
}

export interface CleanUpOptions {
  /** The most per transaction. */
  readonly batch?: number
  /** The most in total. */
  readonly limit?: number
  /** Stops after the current batch. */
  readonly signal?: AbortSignal
}

/**
 * [G13] Everything a coordinator needs of a storage. All decisive times (leases, retries, deadlines) are by the
 * storage's own clock, never by the caller's. The conformance suite in test/sagas/ is its contract.
 */
export interface StateStorage {
  /**
   * Stores a new saga with its steps. With a key that was used before, it creates nothing and returns the first saga.
   */
  startSaga(saga: NewSaga, tx?: StepTransaction): Promise<StartOutcome>
  /** Starts many sagas in one transaction. */
  startSagas(sagas: readonly NewSaga[]): Promise<StartOutcome[]>
  getSaga(id: string): Promise<SagaRecord | undefined>
  /** The states of those that exist. */
  readStates(ids: readonly string[]): Promise<Map<string, SagaState>>
  /** Newest first. */
  listSagas(filter: SagaFilter): Promise<SagaRecord[]>
  /** Unfinished sagas whose deadline has passed and that are not being undone yet, the longest overdue first. */
  findTimedOut(limit: number): Promise<SagaRecord[]>
  listSteps(sagaId: string): Promise<StepRecord[]>
  /** In order of occurrence. */
  listEvents(sagaId: string): Promise<SagaEventRecord[]>
  /**
   * Writes states of sagas and steps, and events: many sagas' changes in one transaction, each refused separately when
   * its fence is outdated. `leaseMs`: the new length of leases that are kept.
   */
  write(changes: readonly SagaChange[], leaseMs: number): Promise<WriteOutcome[]>
  /** Runs the work and writes the change it returns in one transaction; after any failure, neither is stored. */
  transact(work: (tx: StepTransaction) => Promise<SagaChange>, leaseMs: number): Promise<TransactOutcome>
  /** An almost free look for work, for an idle coordinator. */
  lookAhead(definitions: readonly Pick<SagaDefinition, 'name' | 'version'>[]): Promise<Outlook>
  /**
   * Claims due sagas without a holder, under a lease. Skips those that another coordinator claims at the same moment.
   */
  claim(request: ClaimRequest): Promise<ClaimedSaga[]>
  /** Renews the leases that the owner still holds and returns their ids; skips locked rows. */
  renew(owner: string, sagaIds: readonly string[], leaseMs: number): Promise<readonly string[]>
  /** The signals of those that the owner still holds; the others are missing. */
  readSignals(owner: string, sagaIds: readonly string[]): Promise<Map<string, Signals>>
  /** Asks the holder to stop and to undo; needs no lease. */
  requestCancel(sagaId: string, request: CancelRequest): Promise<CancelOutcome>
  /** Stores a signal; `tx` is the caller's own transaction, if it has one. The first one of a name and key counts. */
  signal(signal: NewSignal, tx?: StepTransaction): Promise<SignalOutcome>
  /** The signals that have arrived, by topic; one that cannot be read does not fail the others. */
  findSignals(topics: readonly SignalName[]): Promise<Map<string, ArrivedSignal>>
  /** The deliveries that these steps wait for, by topic. */
  findDeliveries(steps: readonly AwaitingStep[]): Promise<Map<string, AwaitedDeliveries>>
  /** Makes sagas due for whose topics there is news, up to `limit`; returns whether there may be more. */
  passNewsOn(limit: number): Promise<boolean>
  /** Removes expired signals that no saga waits for; returns how many. */
  cleanUpSignals(limit: number): Promise<number>
  /** Deletes a finished saga that waits for no operator, with its steps and events. */
  deleteSaga(id: string): Promise<boolean>
  /** Deletes all that were last changed before the moment, oldest first, in short transactions; returns how many. */
  cleanUpExpired(olderThan: Date, options?: CleanUpOptions): Promise<number>
}
