import { setTimeout as pause } from 'node:timers/promises'
import { planCompleted } from '../decide/index.js'
import type { StepDefinition } from '../definition.js'
import { type Advance, advanceSaga } from './advance-saga.js'
import { type CallOutcome, callStep } from './call-step.js'
import { callStepCode } from './call-step-code.js'
import { type Begun, type HeldSaga, LeaseLost } from './held-saga.js'
import type { RunOptions } from './run-saga.js'

const TRANSACT_PAUSE_MS = 50
const TRANSACT_PAUSE_MS_MAX = 5_000

export type TransactionOutcome =
  | Exclude<CallOutcome, { ok: true }>
  /** The step is done, its checkpoint is written, and these attempts come next. */
  | { readonly ok: 'written'; readonly next: readonly Begun[] }

/** Calls a step that commits together with its checkpoint. */
export async function runTransaction(
  held: HeldSaga,
  { storage, leaseMs, graceMs, isStopping, onTrouble }: RunOptions,
  begun: Begun,
  step: StepDefinition,
): Promise<TransactionOutcome> {
  let planned: Advance | undefined
  let called: CallOutcome | undefined
  const { forward } = held
  const transactOnce = () =>
    storage.transact(async (tx) => {
      // It may have waited for a free connection.
      called = await callStepCode(held, { step, begun, outer: forward, graceMs, tx })
      if (called.ok !== true) throw new Error('rolled back')
      const completed = planCompleted(held.run, begun.index, called.output, begun.spanId)
      const advance = await advanceSaga(held, completed, { now: held.now() }, isStopping)
      planned = { ...advance, change: held.annotate(advance.change) }
      return planned.change
    }, leaseMs)
  let transacted = await transactOnce()
  // Nothing was written and no attempt is used up: the same attempt is repeated until there is a database, or no need.
  for (let pauseMs = TRANSACT_PAUSE_MS; transacted.outcome === 'unavailable'; pauseMs *= 2) {
    onTrouble?.(transacted.error as Error)
    await pauseUnless(forward, Math.min(pauseMs, TRANSACT_PAUSE_MS_MAX))
    if (forward.aborted) return stopped(await callStepCode(held, { step, begun, outer: forward, graceMs }))
    called = undefined
    transacted = await transactOnce()
  }
  if (transacted.outcome === 'refused') throw new LeaseLost()
  if (transacted.outcome === 'committed' && planned) {
    held.accept(planned.change, transacted.signals)
    return { ok: 'written', next: planned.begun }
  }
  if (called && called.ok !== true) return called
  // Failed at the end of its transaction: a deferred constraint, a conflict.
  const failure = transacted.outcome === 'failed' ? transacted.error : undefined
  return stopped(
    await callStep({
      call: () => Promise.reject(failure),
      retry: step.retry,
      timeoutMs: undefined,
      outer: new AbortController().signal,
      graceMs,
    }),
  )
}

/** The outcome of a call that cannot have succeeded. */
function stopped(outcome: CallOutcome): Exclude<CallOutcome, { ok: true }> {
  if (outcome.ok === true) throw new Error('a step that was not called has ended')
  return outcome
}

async function pauseUnless(signal: AbortSignal, ms: number): Promise<void> {
  await pause(ms, undefined, { signal }).catch(() => {})
}
