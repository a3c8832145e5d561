import { createHash } from 'node:crypto'
import type pg from 'pg'
import { type SagaDefinition, saga } from '../../src/sagas/index.js'
import { NonRetryableError } from '../../src/sagas/saga-error.js'

/** Of the processes' connections. */
export const APPLICATION_NAME = 'saga process'

/** How one step behaves: how often its runs and undos fail first (for good when `fatal`). */
interface StepPlan {
  readonly transaction: boolean
  readonly compensate: boolean
  readonly failures: number
  readonly fatal: boolean
  readonly undoFailures: number
}

export interface SagaPlan {
  readonly name: string
  /** Started with its name as the key, by every process; others by the first one only. */
  readonly keyed: boolean
  readonly steps: readonly StepPlan[]
  readonly compensation: 'reverse' | 'best_effort' | 'parallel'
}

/** A saga of five steps with compensations, of both kinds; its last step fails, or not. */
export function planFive(name: string, fatal: boolean): SagaPlan {
  const steps = [0, 1, 2, 3, 4].map((index) => ({
    transaction: index % 2 === 1,
    compensate: true,
    failures: 0,
    fatal: fatal && index === 4,
    undoFailures: 0,
  }))
  return { name, keyed: true, compensation: 'reverse', steps }
}

/** The same seed makes the same plans, in every process. */
export function planSagas(seed: number, count: number): SagaPlan[] {
  return Array.from({ length: count }, (_, number) => {
    const pick = (what: string, below: number) =>
      createHash('sha256').update(`${seed}:${number}:${what}`).digest().readUInt32BE() % below
    const modes = ['reverse', 'best_effort', 'parallel'] as const
    return {
      name: `killed-${number}`,
      keyed: number % 2 === 0,
      compensation: modes[pick('mode', modes.length)] ?? 'reverse',
      steps: Array.from({ length: 1 + pick('steps', 6) }, (_, step) => ({
        transaction: pick(`${step}:kind`, 2) === 0,
        compensate: pick(`${step}:undo`, 4) > 0,
        failures: pick(`${step}:fails`, 5) === 0 ? 1 : 0,
        fatal: pick(`${step}:fatal`, 8) === 0,
        undoFailures: pick(`${step}:undoFails`, 4) === 0 ? 1 : 0,
      })),
    }
  })
}

/**
 * What a step does is seen from outside: when its code is called and when it has done its work, a row in public.calls
 * by itself; in its transaction, one in public.done.
 */
export const sideTables = `
  CREATE TABLE public.calls (
    place bigserial, saga_id text NOT NULL, step int NOT NULL, what text NOT NULL, step_state int NOT NULL);
  CREATE TABLE public.done (saga_id text NOT NULL, step int NOT NULL)`

/** With the state of the step as it stands in the database at this moment. */
const insertCall = `
  INSERT INTO public.calls (saga_id, step, what, step_state)
  SELECT saga_id, step_index, $3, state FROM sagapost.saga_steps WHERE saga_id = $1 AND step_index = $2`

type Query = { query(sql: string, values: unknown[]): Promise<unknown> }
type Context = { sagaId: string; attempt: number; tx?: Query }

export function defineSaga(plan: SagaPlan, side: pg.Pool): SagaDefinition {
  const retry = { maxAttempts: 2, backoff: 'fixed', initialInterval: '1ms', jitter: 'none' } as const
  // biome-ignore lint/suspicious/noExplicitAny: the number of steps is known at run time only
  let definition: any = saga(plan.name, { retry, compensation: plan.compensation })
  for (const [index, step] of plan.steps.entries()) {
    const options = {
      run: async ({ sagaId, attempt, tx }: Context) => {
        await side.query(insertCall, [sagaId, index, 'run'])
        await tx?.query('INSERT INTO public.done VALUES ($1, $2)', [sagaId, index])
        if (step.fatal) throw new NonRetryableError('never')
        if (attempt <= step.failures) throw new Error('not yet')
        await side.query(insertCall, [sagaId, index, 'ran'])
        return index
      },
      compensate: async ({ sagaId, attempt }: Context) => {
        await side.query(insertCall, [sagaId, index, 'undo'])
        if (attempt <= step.undoFailures) throw new Error('not undone yet')
        await side.query(insertCall, [sagaId, index, 'undone'])
      },
    }
    const given = step.compensate ? options : { run: options.run }
    definition = step.transaction
      ? definition.transaction(`s${index}`, given)
      : definition.step(`s${index}`, given)
  }
  return definition
}
