import { annotateChange, applyChange, contextBefore, isPastPivot, type SagaRun } from '../decide/index.js'
import type { SagaDefinition, StepContext } from '../definition.js'
import type { ClaimedSaga, Release, SagaChange, Signals } from '../records.js'
import type { WriteOutcome } from '../storage/index.js'
import { type StopReason, StopSignal } from './call-step.js'

export class LeaseLost extends Error {}

const stopMessages: Record<StopReason, string> = {
  cancelled: 'the saga was cancelled',
  overdue: 'the deadline of the saga has passed',
  lost: 'another coordinator has taken the saga over',
  stopping: 'the coordinator is stopping',
  branch_failed: 'another branch has failed',
}

/** A recorded attempt that can be called. */
export interface Begun {
  readonly index: number
  readonly spanId: string
}

/** A saga under this process's lease: the only mutable state of its run. */
export interface HeldSaga {
  readonly definition: SagaDefinition
  readonly run: SagaRun
  /** How the last write released it, if it did. */
  readonly released: Release | undefined
  /** Steps whose topic was looked up since the saga was taken: the storage records later news. */
  readonly looked: Set<number>
  /** Stops runs, not undos: when a saga is cancelled or overdue, its undo runs to the end. */
  readonly forward: AbortSignal
  readonly everything: AbortSignal
  /** By the storage's clock, as estimated by this process. */
  now(): Date
  /** Throws `LeaseLost` when another coordinator holds the lease. */
  write(change: SagaChange): Promise<void>
  /** The change as it is written: see annotate-change.ts. */
  annotate(change: SagaChange): SagaChange
  /** Applies a change that was written. */
  accept(change: SagaChange, outcome: Signals & { readonly moment: Date }): void
  hear(signals: Signals): void
  stop(why: 'lost' | 'stopping'): void
  contextOf(begun: Begun, attempt: number, signal: AbortSignal): StepContext<unknown, unknown>
}

export function createHeldSaga(
  claimed: ClaimedSaga,
  definition: SagaDefinition,
  writeOne: (change: SagaChange) => Promise<WriteOutcome>,
  hasBegun = false,
): HeldSaga {
  let run: SagaRun = { ...claimed, definition }
  let heardAtMs = performance.now()
  let released: Release | undefined
  let isFirst = !hasBegun
  let forward = new AbortController()
  const everything = new AbortController()
  const stopForward = (why: StopReason) => forward.abort(stopSignal(why))

  const held: HeldSaga = {
    definition,
    looked: new Set(),
    everything: everything.signal,
    get run() {
      return run
    },
    get released() {
      return released
    },
    get forward() {
      return forward.signal
    },
    now: () => new Date(run.saga.updatedAt.getTime() + performance.now() - heardAtMs),
    async write(planned) {
      const change = held.annotate(planned)
      const outcome = await writeOne(change)
      if (!outcome.applied) throw new LeaseLost()
      held.accept(change, outcome)
    },
    annotate: (change) => annotateChange(run, change, isFirst),
    accept(change, { moment, ...signals }) {
      run = applyChange(run, change, moment)
      heardAtMs = performance.now()
      released = change.release
      isFirst &&= change.events.length === 0
      // A request to stop comes too late past the pivot.
      if (change.pivoted && !everything.signal.aborted) forward = new AbortController()
      held.hear(signals)
    },
    hear(signals) {
      run = { ...run, signals }
      if (isPastPivot(run)) return
      if (signals.cancelRequested) stopForward('cancelled')
      else if (signals.overdue) stopForward('overdue')
    },
    stop(why) {
      everything.abort(stopSignal(why))
      stopForward(why)
    },
    contextOf: ({ index, spanId }, attempt, signal) => ({
      ...contextBefore(run, index),
      attempt,
      idempotencyKey: `${run.saga.id}:${run.steps[index]?.name}`,
      signal,
      traceparent: `00-${run.saga.traceId}-${spanId}-01`,
    }),
  }
  return held
}

export function stopSignal(why: StopReason): StopSignal {
  return new StopSignal(why, stopMessages[why])
}
