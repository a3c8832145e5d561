import { createHash } from 'node:crypto'
import type pg from 'pg'
import { NonRetryableError, type SagaDefinition, saga } from '../../src/sagas/index.js'

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
  readonly steps: readonly StepPlan[]
  readonly compensation: 'reverse' | 'best_effort' | 'parallel'
}

/** The same seed makes the same plans, in every process. */
export function planSagas(seed: number, count: number): SagaPlan[] {
  return Array.from({ length: count }, (_, number) => {
    const pick = (what: string, below: number) =>
      createHash('sha256').update(`${seed}:${number}:${what}`).digest().readUInt32BE() % below
    const modes = ['reverse', 'best_effort', 'parallel'] as const
    return {
      name: `killed-${number}`,
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

/** What a step does is seen from outside: a row in public.calls by itself, one in public.done in its transaction. */
export const sideTables = `
  CREATE TABLE public.calls (saga_id text NOT NULL, step int NOT NULL, what text NOT NULL, step_state int NOT NULL);
  CREATE TABLE public.done (saga_id text NOT NULL, step int NOT NULL)`

/** With the state of the step as it stands in the database while it is called. */
const insertCall = `
  INSERT INTO public.calls
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
        return index
      },
      compensate: async ({ sagaId, attempt }: Context) => {
        await side.query(insertCall, [sagaId, index, 'undo'])
        if (attempt <= step.undoFailures) throw new Error('not undone yet')
      },
    }
    const given = step.compensate ? options : { run: options.run }
    definition = step.transaction
      ? definition.transaction(`s${index}`, given)
      : definition.step(`s${index}`, given)
  }
  return definition
}
