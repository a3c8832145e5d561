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
  /** False: the key was used before, and this is the saga that it made. */
  readonly created: boolean
  readonly saga: SagaRecord
}

/** Refused: the lease was lost, or the token is not the last one. Nothing was written. */
export type WriteOutcome =
  | ({ readonly applied: true /** By the storage's clock. */; readonly moment: Date } & Signals)
  | { readonly applied: false }

export type TransactOutcome =
  | { readonly outcome: 'committed'; readonly signals: Signals & { readonly moment: Date } }
  | { readonly outcome: 'failed'; readonly error: unknown }
  /** Nothing was written, and the step is not to blame: no connection, or our own tables refused the checkpoint. */
  | { readonly outcome: 'unavailable'; readonly error: unknown }
  | { readonly outcome: 'refused' }

export interface SagaFilter {
  readonly states?: readonly SagaState[]
  readonly definitionId?: string
  readonly traceId?: string
  readonly awaitingOperator?: boolean
  readonly limit?: number
  /** Created before this one, for the next page: the last of the page before. */
  readonly before?: { readonly createdAt: Date; readonly id: string }
}

export interface ClaimRequest {
  readonly owner: string
  readonly leaseMs: number
  readonly limit: number
  /** Only these versions of these definitions, each up to its own number. */
  readonly definitions: readonly { readonly name: string; readonly version: number; readonly limit: number }[]
}

export interface CancelRequest {
  readonly by: string
  readonly reason: string
  /** By its parent: also when it has done its part. */
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
  /** False: there was one of this name and key, and it is the one that counts. */
  readonly created: boolean
  readonly receivedAt: Date
  readonly expiresAt: Date
  /** Its payload is the same as that of the one that counts; undefined: it is encrypted, and cannot be compared here. */
  readonly same: boolean | undefined
}

/** A signal that has come. */
export type ArrivedSignal = { readonly payload: unknown } | { readonly unreadable: DataUnreadableError }

/** A step that waits for the deliveries of an event. */
export interface AwaitingStep {
  readonly sagaId: string
  readonly stepIndex: number
}

/** How these deliveries stand; one that was requeued counts by what took its place. */
export interface AwaitedDeliveries {
  readonly eventId: string
  /** `dead`: some are dead-lettered, whatever becomes of the others. `gone`: the event is not there any more. */
  readonly standing: 'open' | 'completed' | 'dead' | 'gone'
  readonly completed: number
  readonly dead: number
}

export type CancelOutcome = 'requested' | 'already_requested' | 'too_late' | 'not_found'

/** What there is to do, and when. */
export interface Outlook {
  /** `passNewsOn` would find something. */
  readonly news: boolean
  /** Until the next saga of these definitions is due: 0 for one that is; null: none will be by itself. */
  readonly dueInMs: number | null
}

export interface CleanUpOptions {
  /** How many in one transaction. */
  readonly batch?: number
  /** How many at most. */
  readonly limit?: number
  /** Stops it after the batch that is under way. */
  readonly signal?: AbortSignal
}

/**
 * [G13] Everything a coordinator needs of a storage. Times that decide anything (leases, retries, deadlines) are by the
 * storage's own clock, never by the caller's. The conformance suite in test/sagas/ is its contract.
 */
export interface StateStorage {
  /** Saves a new saga with its steps. With a key that was used before it makes nothing and finds the first one. */
  startSaga(saga: NewSaga, tx?: StepTransaction): Promise<StartOutcome>
  /** Many, in one transaction. */
  startSagas(sagas: readonly NewSaga[]): Promise<StartOutcome[]>
  getSaga(id: string): Promise<SagaRecord | undefined>
  /** Of those that are there. */
  readStates(ids: readonly string[]): Promise<Map<string, SagaState>>
  /** Newest first. */
  listSagas(filter: SagaFilter): Promise<SagaRecord[]>
  /** Unfinished sagas whose deadline has passed and that are not being undone yet, the longest overdue first. */
  findTimedOut(limit: number): Promise<SagaRecord[]>
  listSteps(sagaId: string): Promise<StepRecord[]>
  /** In the order in which it happened. */
  listEvents(sagaId: string): Promise<SagaEventRecord[]>
  /**
   * States of sagas and of steps, and events: many sagas' in one transaction, each by itself refused when its fence is
   * not the last one. `leaseMs`: how long the lease lasts from now on where it is kept.
   */
  write(changes: readonly SagaChange[], leaseMs: number): Promise<WriteOutcome[]>
  /** Runs the work and writes what it answers in one transaction; whatever goes wrong, neither is there. */
  transact(work: (tx: StepTransaction) => Promise<SagaChange>, leaseMs: number): Promise<TransactOutcome>
  /** A look that costs next to nothing, for a coordinator that has nothing to do. */
  lookAhead(definitions: readonly Pick<SagaDefinition, 'name' | 'version'>[]): Promise<Outlook>
  /** What is due and not held by anybody, under a lease. What another claims at the same moment is passed over. */
  claim(request: ClaimRequest): Promise<ClaimedSaga[]>
  /** Begins the leases of those that the owner still holds anew, and answers which; a row that is locked is passed over. */
  renew(owner: string, sagaIds: readonly string[], leaseMs: number): Promise<readonly string[]>
  /** Of those that the owner still holds; the others are missing. */
  readSignals(owner: string, sagaIds: readonly string[]): Promise<Map<string, Signals>>
  /** Asks the holder to stop and to undo; needs no lease. */
  requestCancel(sagaId: string, request: CancelRequest): Promise<CancelOutcome>
  /** Keeps a signal; `tx` is the caller's own transaction, if it has one. The first one of a name and key counts. */
  signal(signal: NewSignal, tx?: StepTransaction): Promise<SignalOutcome>
  /** Those that have come, by their topics; one that cannot be read spoils no other. */
  findSignals(topics: readonly SignalName[]): Promise<Map<string, ArrivedSignal>>
  /** Of the events that these steps wait for, by their topics. */
  findDeliveries(steps: readonly AwaitingStep[]): Promise<Map<string, AwaitedDeliveries>>
  /** Makes those due that wait for what there is news of, as far as `limit` goes; answers whether there may be more. */
  passNewsOn(limit: number): Promise<boolean>
  /** Removes signals whose time is over and that nobody waits for; how many. */
  cleanUpSignals(limit: number): Promise<number>
  /** A finished saga that waits for nobody, with its steps and events. */
  deleteSaga(id: string): Promise<boolean>
  /** The same for all that were last changed before the moment, the oldest first, in short transactions; how many. */
  cleanUpExpired(olderThan: Date, options?: CleanUpOptions): Promise<number>
}
