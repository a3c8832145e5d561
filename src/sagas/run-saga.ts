import { setTimeout as pause } from 'node:timers/promises'
import { type CallOutcome, callStep, type StopReason, StopSignal } from './call-step.js'
import { delayOf } from './change-parts.js'
import { decideNext } from './decide-next.js'
import type { SagaDefinition, StepContext, StepTransaction } from './definition.js'
import { newSpanId } from './new-ids.js'
import { planCompensation, planEnd, planRelease } from './plan-ends.js'
import { planAdvance, planCompleted, planFailed, planInterruptedRun, planRun } from './plan-runs.js'
import { mayUndoAgain, planInterruptedUndo, planUndo, planUndoFailed, planUndone } from './plan-undos.js'
import type { ClaimedSaga, SagaChange, SagaRecord, Signals } from './records.js'
import { attemptError } from './saga-error.js'
import { applyChange, type SagaRun } from './saga-run.js'
import type { StateStorage, WriteOutcome } from './state-storage.js'

type RunEnd =
  /** The saga, unless somebody else has written to it meanwhile. */
  | { readonly end: 'finished'; readonly saga?: SagaRecord }
  /** Let go, to be taken up again in so long. */
  | { readonly end: 'released'; readonly wakeInMs: number }
  /** Another has it now. */
  | { readonly end: 'lost' }

export interface RunOptions {
  readonly claimed: ClaimedSaga
  /** Its first step's intent was written with its start. */
  readonly begun?: Begun
  readonly definition: SagaDefinition
  readonly storage: Pick<StateStorage, 'transact'>
  readonly write: (change: SagaChange) => Promise<WriteOutcome>
  readonly leaseMs: number
  readonly graceMs: number
  /** A transaction could not be had, and is tried again. */
  readonly onTrouble?: (error: Error) => void
  /** No new step begins; what runs is finished. */
  readonly isStopping: () => boolean
}

export interface RunningSaga {
  readonly done: Promise<RunEnd>
  /** What others have said meanwhile. */
  tell(signals: Signals): void
  stop(reason: 'lost' | 'stopping'): void
}

class LeaseLost extends Error {}

const TRANSACT_PAUSE_MS = 50
const TRANSACT_PAUSE_MS_MAX = 5_000

const stopMessages: Record<StopReason, string> = {
  cancelled: 'the saga was cancelled',
  overdue: 'the deadline of the saga has passed',
  lost: 'another coordinator has taken the saga over',
  stopping: 'the coordinator is stopping',
}

/** An attempt that has been written down, and can be called. */
export interface Begun {
  readonly index: number
  readonly spanId: string
}

/** Runs one saga under its lease: decide, write, call, until it is finished, has to wait, or is lost. */
export function runSaga(options: RunOptions): RunningSaga {
  const { claimed, definition, storage, leaseMs, graceMs, isStopping } = options
  let run: SagaRun = { ...claimed, definition }
  /** Stops a run, not an undo: cancelled or overdue, what was begun is undone to the end. */
  const forward = new AbortController()
  const everything = new AbortController()
  /** Set when the last write has let the saga go: a failed run is tried again later. */
  let releasedForMs: number | undefined

  const stopForward = (why: StopReason) => forward.abort(new StopSignal(why, stopMessages[why]))

  const hear = (signals: Signals) => {
    run = { ...run, signals }
    if (signals.cancelRequested) stopForward('cancelled')
    else if (signals.overdue) stopForward('overdue')
  }

  const accept = (change: SagaChange, { moment, ...signals }: Signals & { readonly moment: Date }) => {
    run = applyChange(run, change, moment)
    releasedForMs = change.release?.wakeInMs ?? undefined
    hear(signals)
  }

  const write = async (change: SagaChange): Promise<void> => {
    const outcome = await options.write(change)
    if (!outcome.applied) throw new LeaseLost()
    accept(change, outcome)
  }

  const contextOf = (
    { index, spanId }: Begun,
    attempt: number,
    signal: AbortSignal,
  ): StepContext<unknown, unknown> => {
    const before = run.steps.slice(0, index).filter(({ output }) => output !== undefined)
    return {
      sagaId: run.saga.id,
      input: run.saga.input,
      outputs: Object.fromEntries(before.map(({ name, output }) => [name, output])),
      attempt,
      idempotencyKey: `${run.saga.id}:${run.steps[index]?.name}`,
      signal,
      traceparent: `00-${run.saga.traceId}-${spanId}-01`,
    }
  }

  /** The checkpoint; when another step follows, its intent goes into the same write. */
  const checkpoint = (begun: Begun, output: string | undefined): { change: SagaChange; next?: Begun } => {
    const completed = planCompleted(run, begun.index, output, begun.spanId)
    const after = applyChange(run, completed)
    const action = decideNext(after)
    if (action.do !== 'run_step' || isStopping()) return { change: completed }
    const next = { index: action.index, spanId: newSpanId() }
    return { change: planAdvance(run, completed, next), next }
  }

  /** Calls the step of an attempt that has been written down. Answers the next one, if that has been begun as well. */
  const finishRun = async (begun: Begun): Promise<Begun | undefined | 'given_up'> => {
    const step = definition.steps[begun.index]
    if (step === undefined) throw new Error(`there is no step ${begun.index}`)
    const attempt = run.steps[begun.index]?.attempts ?? 1
    if (forward.signal.aborted) {
      const outcome = notCalled(forward.signal.reason)
      if (outcome.ok === 'given_up') return 'given_up'
      await write(planFailed(run, begun.index, outcome.error, begun.spanId))
      return undefined
    }
    const call = (run: (context: never) => unknown, tx?: StepTransaction) =>
      callStep({
        call: (signal) => run({ ...contextOf(begun, attempt, signal), ...(tx ? { tx } : {}) } as never),
        retry: step.retry,
        timeoutMs: step.timeoutMs,
        outer: forward.signal,
        graceMs,
      })

    let outcome: CallOutcome
    if (step.kind === 'transaction') {
      let planned: { change: SagaChange; next?: Begun } | undefined
      let called: { outcome?: CallOutcome } = {}
      const transactOnce = () =>
        storage.transact(async (tx) => {
          called = {}
          // It may have waited for its turn.
          if (forward.signal.aborted) called.outcome = notCalled(forward.signal.reason)
          else called.outcome = await call(step.run, tx)
          if (called.outcome.ok !== true) throw new Error('rolled back')
          planned = checkpoint(begun, called.outcome.output)
          return planned.change
        }, leaseMs)
      let transacted = await transactOnce()
      // Nothing was written, and no attempt is used up: it is the same one until there is a database, or no need of it.
      for (let pauseMs = TRANSACT_PAUSE_MS; transacted.outcome === 'unavailable'; pauseMs *= 2) {
        options.onTrouble?.(transacted.error as Error)
        await pauseUnless(forward.signal, Math.min(pauseMs, TRANSACT_PAUSE_MS_MAX))
        if (forward.signal.aborted) {
          called = { outcome: notCalled(forward.signal.reason) }
          break
        }
        transacted = await transactOnce()
      }
      if (transacted.outcome === 'refused') throw new LeaseLost()
      if (transacted.outcome === 'committed' && planned) {
        accept(planned.change, transacted.signals)
        return planned.next
      }
      // Failed by itself, or at the end of its transaction: a constraint that is checked late, a conflict.
      const failure = transacted.outcome === 'failed' ? transacted.error : undefined
      outcome =
        called.outcome && called.outcome.ok !== true
          ? called.outcome
          : await callStep({
              call: () => Promise.reject(failure),
              retry: step.retry,
              timeoutMs: undefined,
              outer: new AbortController().signal,
              graceMs,
            })
    } else outcome = await call(step.run)

    if (outcome.ok === 'given_up') return 'given_up'
    if (outcome.ok) {
      const { change, next } = checkpoint(begun, outcome.output)
      await write(change)
      return next
    }
    await write(planFailed(run, begun.index, outcome.error, begun.spanId))
    return undefined
  }

  /** Undoes steps at the same time, notes each as it ends, and answers how long to wait before the next round. */
  const undo = async (indexes: readonly number[]): Promise<number | 'given_up'> => {
    const spanId = newSpanId()
    await write(planUndo(run, indexes, spanId))
    let waitMs = 0
    let noted: Promise<void> = Promise.resolve()
    let givenUp = false
    const note = async (index: number, outcome: CallOutcome) => {
      if (outcome.ok === 'given_up') givenUp = true
      else if (outcome.ok) await write(planUndone(run, index, spanId))
      else {
        const step = run.steps[index]
        if (step && mayUndoAgain(step, outcome.error)) {
          const attempts = step.compensation?.attempts ?? 1
          waitMs = Math.max(waitMs, delayOf(run, index, attempts, 'compensateRetry'))
        }
        await write(planUndoFailed(run, index, outcome.error, spanId))
      }
    }
    await Promise.all(
      indexes.map(async (index) => {
        const step = definition.steps[index]
        const attempt = run.steps[index]?.compensation?.attempts ?? 1
        const output = run.steps[index]?.output
        const outcome = await callStep({
          call: async (signal) => {
            await step?.compensate?.({ ...contextOf({ index, spanId }, attempt, signal), output } as never)
          },
          retry: step?.compensateRetry ?? definition.retry,
          timeoutMs: step?.timeoutMs,
          outer: everything.signal,
          graceMs,
        })
        noted = noted.then(() => note(index, outcome))
        await noted
      }),
    )
    return givenUp ? 'given_up' : waitMs
  }

  const release = async (wakeInMs: number): Promise<RunEnd> => {
    await write(planRelease(run, wakeInMs))
    return { end: 'released', wakeInMs }
  }

  const end = (): RunEnd => ({ end: 'finished', ...(run.signals.cancelRequested ? {} : { saga: run.saga }) })

  const go = async (): Promise<RunEnd> => {
    hear(run.signals)
    let begun = options.begun
    for (;;) {
      if (begun !== undefined) {
        const next = await finishRun(begun)
        if (next === 'given_up')
          return everything.signal.reason?.why === 'lost' ? { end: 'lost' } : release(0)
        begun = next
        if (begun !== undefined) continue
        if (releasedForMs !== undefined) return { end: 'released', wakeInMs: releasedForMs }
      }
      const action = decideNext(run)
      if (isStopping() && action.do !== 'nothing' && action.do !== 'end') return release(0)
      switch (action.do) {
        case 'run_step': {
          begun = { index: action.index, spanId: newSpanId() }
          await write(planRun(run, begun.index, begun.spanId))
          break
        }
        case 'note_interrupted_run':
          await write(planInterruptedRun(run, action.index))
          break
        case 'note_interrupted_undo':
          await write(planInterruptedUndo(run, action.index))
          break
        case 'compensate':
          await write(planCompensation(run, action.cause))
          break
        case 'undo': {
          const waitMs = await undo(action.indexes)
          if (waitMs === 'given_up') {
            return everything.signal.reason?.why === 'lost' ? { end: 'lost' } : release(0)
          }
          if (waitMs > 0) return release(waitMs)
          break
        }
        case 'end':
          await write(planEnd(run, action.state))
          return end()
        case 'nothing':
          return end()
      }
    }
  }

  const done = go().catch((error: unknown): RunEnd => {
    if (error instanceof LeaseLost) return { end: 'lost' }
    throw error
  })

  return {
    done,
    tell: hear,
    stop(why) {
      everything.abort(new StopSignal(why, stopMessages[why]))
      stopForward(why)
    },
  }
}

/** The attempt was written down, and stopped before its code was called. */
function notCalled({ why, message }: StopSignal): Exclude<CallOutcome, { ok: true }> {
  if (why === 'lost' || why === 'stopping') return { ok: 'given_up' }
  return { ok: false, error: attemptError('run_not_called', message, false) }
}

async function pauseUnless(signal: AbortSignal, ms: number): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => {})
}
