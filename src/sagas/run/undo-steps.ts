import { planUndo, planUndoFailed, planUndone } from '../decide/index.js'
import { newSpanId } from '../new-ids.js'
import { type CallOutcome, callStep } from './call-step.js'
import type { HeldSaga } from './held-saga.js'

/** Undoes steps at the same time and records each as it ends. A child's undo is only begun: its end is awaited. */
export async function undoSteps(
  held: HeldSaga,
  graceMs: number,
  indexes: readonly number[],
): Promise<'given_up' | 'noted'> {
  const { definition } = held
  const spanId = newSpanId()
  await held.write(planUndo(held.run, indexes, spanId))
  let noted: Promise<void> = Promise.resolve()
  let givenUp = false
  const note = async (index: number, outcome: CallOutcome) => {
    if (outcome.ok === 'given_up') givenUp = true
    else if (outcome.ok) await held.write(planUndone(held.run, index, spanId))
    else await held.write(planUndoFailed(held.run, index, outcome.error, spanId))
  }
  const called = indexes.filter((index) => definition.steps[index]?.kind !== 'saga')
  await Promise.all(
    called.map(async (index) => {
      const step = definition.steps[index]
      const attempt = held.run.steps[index]?.compensation?.attempts ?? 1
      const output = held.run.steps[index]?.output
      const outcome = await callStep({
        call: async (signal) => {
          await step?.compensate?.({ ...held.contextOf({ index, spanId }, attempt, signal), output } as never)
        },
        retry: step?.compensateRetry ?? definition.retry,
        timeoutMs: step?.timeoutMs,
        outer: held.everything,
        graceMs,
      })
      noted = noted.then(() => note(index, outcome))
      await noted
    }),
  )
  return givenUp ? 'given_up' : 'noted'
}
