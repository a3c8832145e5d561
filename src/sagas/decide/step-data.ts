import type { StepRecord } from '../records.js'
import type { SagaRun } from './saga-run.js'

/** Limit of copies for readers; the full data is in initial_data and in each step's output_data. */
const COPY_CHARS_MAX = 65_536

/**
 * [G2] saga_steps.input_data as JSON: the input that is new to the step, which is the outputs of the nearest earlier
 * stage that returned something, or the saga's input.
 */
export function stepInput({ saga, steps, definition }: SagaRun, index: number): string {
  const stageOf = (place: number) => definition.steps[place]?.stage ?? place
  const before = steps.filter((step) => step.output !== undefined && stageOf(step.index) < stageOf(index))
  const nearest = Math.max(...before.map((step) => stageOf(step.index)))
  if (before.length === 0) return firstInput(saga.input)
  return JSON.stringify({ outputs: fittingOutputs(before.filter((step) => stageOf(step.index) === nearest)) })
}

/** The same for the first step. */
export function firstInput(input: unknown): string {
  const text = JSON.stringify({ input })
  return text.length > COPY_CHARS_MAX ? '{}' : text
}

/**
 * [G1] saga_instances.current_data as JSON: the outputs of its steps so far, by name; undefined when there are none.
 */
export function currentData(steps: readonly StepRecord[]): string | undefined {
  const returned = steps.filter(({ output }) => output !== undefined)
  return returned.length === 0 ? undefined : JSON.stringify(fittingOutputs(returned))
}

/** The outputs that fit; longer ones are left out. */
function fittingOutputs(steps: readonly StepRecord[]): Record<string, unknown> {
  let charsLeft = COPY_CHARS_MAX
  const fitting = steps.filter(({ output }) => {
    const { length } = JSON.stringify(output)
    if (length > charsLeft) return false
    charsLeft -= length
    return true
  })
  return Object.fromEntries(fitting.map(({ name, output }) => [name, output]))
}
