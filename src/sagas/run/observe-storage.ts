import { type SagaState, sagaMachine } from '../../model/index.js'
import type { EventChange, NewSaga, SagaChange } from '../records.js'
import type { StartOutcome, StateStorage, WriteOutcome } from '../storage/index.js'
import { wasApplied } from './was-applied.js'

/** What a coordinator did, reported after it was written. None of these may throw. */
export interface SagaObserver {
  started(saga: ObservedSaga): void
  /** The state is a final one, or Failed. */
  finished(saga: ObservedSaga, state: SagaState, errorCode: string | null): void
  /** The time from the intent to the checkpoint. */
  attemptEnded(
    saga: ObservedSaga,
    attempt: { kind: 'step' | 'compensation'; stepIndex: number; ok: boolean; durationMs: number | null },
  ): void
  retried(saga: ObservedSaga, stepIndex: number): void
  /** Another coordinator's lease had expired. */
  recovered(saga: ObservedSaga): void
  /** The lease was lost, and nothing was written. */
  refused(saga: ObservedSaga): void
}

export interface ObservedSaga {
  readonly id: string
  /** Undefined: the saga was not taken up here. */
  readonly definition: string | undefined
  readonly traceId: string | undefined
}

interface Held extends ObservedSaga {
  /** When the running attempts were begun, by step. */
  readonly begunAt: Map<number, number>
}

const begins = new Set(['saga.step.started', 'compensation.step.started'])
const ends: Readonly<Record<string, { kind: 'step' | 'compensation'; ok: boolean }>> = {
  'saga.step.completed': { kind: 'step', ok: true },
  'saga.step.failed': { kind: 'step', ok: false },
  'compensation.step.completed': { kind: 'compensation', ok: true },
  'compensation.step.failed': { kind: 'compensation', ok: false },
}

/** Wraps a storage to report each write to the observer. */
export function observeStorage(storage: StateStorage, observer: SagaObserver): StateStorage {
  const held = new Map<string, Held>()
  const doubtful = new WeakSet<SagaChange>()
  const heldOf = (id: string): Held =>
    held.get(id) ?? { id, definition: undefined, traceId: undefined, begunAt: new Map() }

  const hold = (id: string, definition: string, traceId: string | null): Held => {
    const saga = { id, definition, traceId: traceId ?? undefined, begunAt: new Map<number, number>() }
    held.set(id, saga)
    return saga
  }

  const tell = (saga: Held, events: readonly EventChange[], endedAt: number) => {
    for (const { type, stepIndex } of events) {
      // Recorded once per saga, when it is first taken up: also for one that was started in a caller's transaction.
      if (type === 'saga.started') observer.started(saga)
      if (stepIndex === null) continue
      const end = ends[type]
      if (end) {
        const begunAt = saga.begunAt.get(stepIndex)
        saga.begunAt.delete(stepIndex)
        const durationMs = begunAt === undefined ? null : endedAt - begunAt
        observer.attemptEnded(saga, { ...end, stepIndex, durationMs })
      } else if (type === 'retry.attempted') observer.retried(saga, stepIndex)
      else if (begins.has(type)) saga.begunAt.set(stepIndex, performance.now())
    }
  }

  const hear = (change: SagaChange, applied: boolean, calledAt: number): void => {
    const saga = heldOf(change.sagaId)
    if (!applied) {
      held.delete(saga.id)
      observer.refused(saga)
      return
    }
    tell(saga, change.events, calledAt)
    const moved = change.events.findLast(({ stepIndex }) => stepIndex === null)
    if (change.finished && moved) {
      const state = sagaMachine.statuses[moved.newState] as SagaState
      observer.finished(saga, state, change.error?.code ?? null)
    }
    if (change.release) held.delete(saga.id)
  }

  const hearStart = (saga: NewSaga, { created }: StartOutcome): void => {
    if (!created) return
    // A saga that is held from its start is begun with it, as `events` say.
    const { id, definitionId, traceId } = saga
    const begun = hold(id, definitionId, traceId)
    tell(begun, saga.lease?.events ?? [], performance.now())
    if (saga.lease === undefined) held.delete(id)
  }

  return {
    ...storage,
    async startSaga(saga, tx) {
      const outcome = await storage.startSaga(saga, tx)
      hearStart(saga, outcome)
      return outcome
    },
    async startSagas(sagas) {
      const outcomes = await storage.startSagas(sagas)
      for (const [place, outcome] of outcomes.entries()) hearStart(sagas[place] as NewSaga, outcome)
      return outcomes
    },
    async write(changes, leaseMs): Promise<WriteOutcome[]> {
      const calledAt = performance.now()
      try {
        const outcomes = await storage.write(changes, leaseMs)
        for (const [place, change] of changes.entries()) {
          // On a retry after an error, a refusal may mean that the first try was written.
          if (!outcomes[place]?.applied && doubtful.has(change)) {
            outcomes[place] = await wasApplied(storage, change)
          }
          hear(change, outcomes[place]?.applied === true, calledAt)
        }
        return outcomes
      } catch (error) {
        for (const change of changes) doubtful.add(change)
        throw error
      }
    },
    async transact(work, leaseMs) {
      let change: SagaChange | undefined
      let calledAt = 0
      const outcome = await storage.transact(async (tx) => {
        change = await work(tx)
        calledAt = performance.now()
        return change
      }, leaseMs)
      const tried = outcome.outcome === 'committed' || outcome.outcome === 'refused'
      if (change && tried) hear(change, outcome.outcome === 'committed', calledAt)
      return outcome
    },
    async claim(request) {
      const claimed = await storage.claim(request)
      for (const { saga, recovered } of claimed) {
        const taken = hold(saga.id, saga.definitionId, saga.traceId)
        if (recovered) observer.recovered(taken)
      }
      return claimed
    },
  }
}
