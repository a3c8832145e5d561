import type { SagaDefinition } from './saga-face.js'

export interface FaultPlace {
  /** Which attempt, from 1; default `every`. */
  attempt?: number | 'every' | undefined
  /** An attempt at its run, or at its undo. */
  of?: 'run' | 'compensate' | undefined
  /** `before` its code is called (the default), or `after` it did its work, whose result is then lost. */
  when?: 'before' | 'after' | undefined
}

export interface Fault extends FaultPlace {
  step: string
  error: Error
}

/** Looks like the coordinator's own time-out: `retryOn: ['timeout']` matches its type. */
export class StepTimedOut extends Error {
  override readonly name = 'coordinator'
  readonly code = 'step_timed_out'
  readonly type = 'timeout'
}

export interface Faults {
  add(fault: Fault): void
  /** Wraps the code of the definition's steps, to record every call and to fail as planned. */
  wrap(definition: SagaDefinition): SagaDefinition
  /** `reserve`, `undo reserve`: the calls in order, including those that crashed. */
  readonly calls: string[]
}

interface Step {
  name: string
  /** Absent for a step that waits. */
  run?: Code
  compensate?: Code
}
type Code = (context: { attempt: number }) => unknown

export function planFaults(): Faults {
  const faults: Fault[] = []
  const calls: string[] = []

  const wrap =
    (step: string, of: 'run' | 'compensate', code: Code): Code =>
    async (context) => {
      calls.push(of === 'run' ? step : `undo ${step}`)
      const fault = faults.find(
        (each) =>
          each.step === step &&
          (each.of ?? 'run') === of &&
          [undefined, 'every', context.attempt].includes(each.attempt),
      )
      if (fault && fault.when !== 'after') throw fault.error
      const output = await code(context)
      if (fault) throw fault.error
      return output
    }

  return {
    calls,
    add: (fault) => faults.push(fault),
    wrap(definition) {
      const steps = (definition.steps as unknown as Step[]).map((step) => ({
        ...step,
        ...(step.run && { run: wrap(step.name, 'run', step.run) }),
        ...(step.compensate && { compensate: wrap(step.name, 'compensate', step.compensate) }),
      }))
      return { ...definition, steps: steps as unknown as SagaDefinition['steps'] }
    },
  }
}
