import { isFinal, sagaMachine } from '../../model/index.js'
import {
  type Action,
  applyChange,
  baseOf,
  decideNext,
  joinChanges,
  notePivot,
  planCompensation,
  planComplete,
  planCompleted,
  planEnd,
  planFailed,
  planInterruptedRun,
  planInterruptedUndo,
  planRelease,
  planUndoFailed,
  planUndone,
  planWait,
} from '../decide/index.js'
import type { SagaDefinition } from '../definition.js'
import type { ClaimedSaga, Release, SagaChange, SagaRecord, Signals } from '../records.js'
import type { StateStorage, WriteOutcome } from '../storage/index.js'
import { advanceSaga, releaseUntil } from './advance-saga.js'
import { type Begun, createHeldSaga, type HeldSaga, LeaseLost } from './held-saga.js'
import { type EndedWait, lookAtWaits } from './look-at-waits.js'
import { runStage } from './run-stage.js'
import { undoSteps } from './undo-steps.js'

type RunEnd =
  /** The saga, unless another writer has changed it meanwhile. */
  | { readonly end: 'finished'; readonly saga?: SagaRecord }
  /** Released for this time; null: until there is news. */
  | { readonly end: 'released'; readonly wakeInMs: number | null }
  /** Another coordinator holds it now. */
  | { readonly end: 'lost' }

export interface RunOptions {
  readonly claimed: ClaimedSaga
  /** Set when the first step's intent was written with the saga's start. */
  readonly begun?: Begun
  readonly definition: SagaDefinition
  readonly storage: Pick<
    StateStorage,
    'transact' | 'findSignals' | 'findDeliveries' | 'getSaga' | 'requestCancel'
  >
  readonly write: (change: SagaChange) => Promise<WriteOutcome>
  readonly leaseMs: number
  readonly graceMs: number
  /** Called when a transaction could not be had, and is retried. */
  readonly onTrouble?: (error: Error) => void
  /** True: no new step begins, and running steps finish. */
  readonly isStopping: () => boolean
}

export interface RunningSaga {
  readonly done: Promise<RunEnd>
  /** Reports what others have requested meanwhile. */
  tell(signals: Signals): void
  stop(reason: 'lost' | 'stopping'): void
}

/** The pause after data that cannot be read here: a new key may be on its way to every process. */
const UNREADABLE_PAUSE_MS = 60_000

/** Quick actions that are carried out even while the process stops. */
const briefActions: readonly Action['do'][] = ['nothing', 'end', 'complete', 'wait', 'await_parent']

/** Runs one saga under its lease: decide, write, call, until it is finished, has to wait, or is lost. */
export function runSaga(options: RunOptions): RunningSaga {
  const held = createHeldSaga(options.claimed, options.definition, options.write, options.begun !== undefined)
  const done = go(held, options).catch((error: unknown): RunEnd => {
    if (error instanceof LeaseLost) return { end: 'lost' }
    throw error
  })
  return { done, tell: held.hear, stop: held.stop }
}

async function go(held: HeldSaga, options: RunOptions): Promise<RunEnd> {
  const { isStopping, graceMs } = options
  const letGo = async (release: Release): Promise<RunEnd> => {
    await held.write(planRelease(held.run, release))
    return endOf(held)
  }
  const giveUp = (): RunEnd | Promise<RunEnd> =>
    held.everything.reason?.why === 'lost' ? { end: 'lost' } : letGo({ wakeInMs: 0 })

  held.hear(held.run.signals)
  let begun: readonly Begun[] = options.begun ? [options.begun] : []
  for (;;) {
    if (begun.length > 0 && (await runStage(held, options, begun)) === 'given_up') return giveUp()
    begun = []
    if (held.released) return endOf(held)
    const { run } = held
    const moment = { now: held.now() }
    const action = decideNext(run, moment)
    if (isStopping() && !briefActions.includes(action.do)) return letGo({ wakeInMs: 0 })
    const goOn = async (change: SagaChange) => {
      const advance = await advanceSaga(held, change, moment, isStopping)
      await held.write(advance.change)
      begun = advance.begun
    }
    switch (action.do) {
      case 'skip':
      case 'begin':
        await goOn(baseOf(run))
        break
      case 'wait': {
        const { ended, stuck, unreadable } = await lookAtWaits(held, options.storage, action.indexes)
        if (unreadable) {
          options.onTrouble?.(unreadable)
          return letGo({ wakeInMs: UNREADABLE_PAUSE_MS, setAside: true })
        }
        if (ended.length === 0) {
          const change = planWait(run, action.indexes, stuck)
          await held.write({ ...change, release: releaseUntil(applyChange(run, change), action.indexes) })
          return endOf(held)
        }
        if (run.saga.state === 'Compensating') await noteUndos(held, ended)
        else await goOn(planEndedWaits(held, ended))
        break
      }
      case 'note_interrupted_run':
        await held.write(planInterruptedRun(run, action.index))
        break
      case 'note_interrupted_undo':
        await held.write(planInterruptedUndo(run, action.index))
        break
      case 'compensate':
        await held.write(planCompensation(run, action.cause))
        break
      case 'undo':
        if ((await undoSteps(held, graceMs, action.indexes)) === 'given_up') return giveUp()
        break
      case 'complete':
        await held.write(notePivot(planComplete(run), run))
        break
      case 'await_parent':
        if (!(await isParentOver(held, options.storage))) return letGo({ wakeInMs: null })
        await held.write(planComplete(run, { parentIsOver: true }))
        break
      case 'end':
        await held.write(planEnd(run, action.state))
        break
      case 'nothing':
        return { end: 'finished', ...knownEnd(held) }
    }
  }
}

/** How the run ends for this process, after the last write released the saga. */
function endOf(held: HeldSaga): RunEnd {
  const { run, released } = held
  if (isFinal(sagaMachine, run.saga.state) || run.saga.state === 'Failed') {
    return { end: 'finished', ...knownEnd(held) }
  }
  const { wakeInMs = null, wakeAt } = released ?? {}
  const untilMs = wakeAt ? Math.max(0, wakeAt.getTime() - held.now().getTime()) : null
  return { end: 'released', wakeInMs: wakeInMs === null ? untilMs : Math.min(wakeInMs, untilMs ?? wakeInMs) }
}

function knownEnd({ run }: HeldSaga): { saga?: SagaRecord } {
  return run.signals.cancelRequested ? {} : { saga: run.saga }
}

/** Joins the checkpoints of ended waits into one change. */
function planEndedWaits({ run }: HeldSaga, ended: readonly EndedWait[]): SagaChange {
  let change = baseOf(run)
  let after = run
  for (const wait of ended) {
    const next = wait.ok
      ? planCompleted(after, wait.index, wait.output)
      : planFailed(after, wait.index, wait.error)
    change = joinChanges(run, change, next)
    after = applyChange(after, next)
  }
  return change
}

async function noteUndos(held: HeldSaga, ended: readonly EndedWait[]): Promise<void> {
  for (const wait of ended) {
    if (wait.ok) await held.write(planUndone(held.run, wait.index))
    else await held.write(planUndoFailed(held.run, wait.index, wait.error))
  }
}

/** True when the parent has ended: it would have cancelled children that must be undone before its end. */
async function isParentOver({ run }: HeldSaga, storage: Pick<StateStorage, 'getSaga'>): Promise<boolean> {
  const parent = run.saga.parentId === null ? undefined : await storage.getSaga(run.saga.parentId)
  if (parent === undefined || isFinal(sagaMachine, parent.state)) return true
  return parent.state === 'Failed' && !parent.awaitingOperator
}
