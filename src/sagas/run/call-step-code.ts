import type { CalledStep, StepDefinition, StepTransaction } from '../definition.js'
import { attemptError, NonRetryableError } from '../saga-error.js'
import { type CallOutcome, callStep, type StopSignal } from './call-step.js'
import type { Begun, HeldSaga } from './held-saga.js'
import { prepareWait } from './prepare-beginnings.js'

export interface StepCode {
  readonly step: StepDefinition
  readonly begun: Begun
  readonly outer: AbortSignal
  readonly graceMs: number
  readonly tx?: StepTransaction
}

/** Calls the code of a recorded attempt, unless it was stopped before. */
export async function callStepCode(
  held: HeldSaga,
  { step, begun, outer, graceMs, tx }: StepCode,
): Promise<CallOutcome> {
  if (outer.aborted) return notCalled(outer.reason)
  const attempt = held.run.steps[begun.index]?.attempts ?? 1
  return callStep({
    async call(signal) {
      if (step.when !== undefined || !isCalled(step)) await failAsPrepared(held, step, begun)
      const { run } = step as CalledStep
      return run({ ...held.contextOf(begun, attempt, signal), ...(tx ? { tx } : {}) } as never)
    },
    retry: step.retry,
    timeoutMs: step.timeoutMs,
    outer,
    graceMs,
  })
}

const isCalled = ({ kind }: StepDefinition) => kind === 'step' || kind === 'transaction'

/** The step's functions threw while it was prepared; they would throw the same again. */
async function failAsPrepared(held: HeldSaga, step: StepDefinition, { index, spanId }: Begun): Promise<void> {
  try {
    await prepareWait(held.run, index, step, spanId)
  } catch (thrown) {
    const { message, code } = (thrown ?? {}) as { message?: unknown; code?: unknown }
    throw new NonRetryableError(String(message ?? thrown), {
      code: typeof code === 'string' ? code : 'step_function_failed',
      cause: thrown,
    })
  }
  if (!isCalled(step)) throw new Error('what it waits for could not be worked out, and now it can')
}

/** The attempt was recorded, and stopped before its code was called. */
function notCalled({ why, message }: StopSignal): Exclude<CallOutcome, { ok: true }> {
  if (why === 'lost' || why === 'stopping') return { ok: 'given_up' }
  return { ok: false, error: attemptError('run_not_called', message, false) }
}
