import fc from 'fast-check'
import { type SagaDefinition, type StateStorage, saga } from '../../src/sagas/index.js'
import { NonRetryableError } from '../../src/sagas/saga-error.js'
import type { Crash } from './crash-storage.js'

/** For a signal: nobody waits so long, the clock is moved when one will never come. */
const SIGNAL_WAIT = '10m'
export const SIGNAL_WAIT_MS = 600_000

type Kind = 'step' | 'transaction' | 'sleep' | 'signal' | 'child' | 'parallel' | 'deliver'

/** Attempts at a run, and at an undo. */
const ATTEMPTS_MAX = 2

/** How one stage behaves: what it is, how often its runs and undos fail first (for good when `fatal`). */
interface StagePlan {
  kind: Kind
  failures: number
  fatal: boolean
  /** `ATTEMPTS_MAX` and more: it gives up, and an operator is asked. */
  undoFailures: number
  /** Before a failed run is tried again. */
  pause?: '1ms' | typeof SIGNAL_WAIT
  when: boolean | undefined
  /** A signal comes before the saga, while it waits, or never. */
  signal: 'early' | 'late' | 'never'
}

export interface ConstructScenario {
  stages: StagePlan[]
  compensation: 'reverse' | 'best_effort' | 'parallel'
  /** Before which stage the pivot stands; 0: nowhere. */
  pivot: number
  /** One of each process. */
  crashes: Crash[]
  cancelAfterWrites: number | null
  timeout?: '1m'
  /** Its children have children. */
  deep?: boolean
  /** What an operator says of undos that were given up. */
  resolution?: 'retry' | 'skip' | 'resolve'
}

/** Only then may it end as Failed. */
export const mayGiveUp = ({ stages, resolution }: ConstructScenario) =>
  resolution === 'resolve' && stages.some(({ undoFailures }) => undoFailures >= ATTEMPTS_MAX)

const stages = fc.record<StagePlan>({
  kind: fc.constantFrom('step', 'transaction', 'sleep', 'signal', 'child', 'parallel', 'deliver'),
  failures: fc.constantFrom(0, 0, 0, 1),
  fatal: fc.constantFrom(false, false, false, false, false, true),
  undoFailures: fc.constantFrom(0, 0, 0, 1, ATTEMPTS_MAX + 1),
  pause: fc.constantFrom('1ms', '1ms', SIGNAL_WAIT),
  when: fc.constantFrom(undefined, undefined, undefined, true, false),
  signal: fc.constantFrom('early', 'late', 'never'),
})

export const constructScenarios: fc.Arbitrary<ConstructScenario> = fc.record({
  stages: fc.array(stages, { minLength: 1, maxLength: 4 }),
  compensation: fc.constantFrom('reverse', 'best_effort', 'parallel'),
  pivot: fc.constantFrom(0, 0, 1, 2, 3),
  crashes: fc.array(fc.record({ afterWrites: fc.integer({ min: 0, max: 10 }), committed: fc.boolean() }), {
    maxLength: 3,
  }),
  cancelAfterWrites: fc.option(fc.integer({ min: 0, max: 10 }), { freq: 4 }),
  deep: fc.boolean(),
  resolution: fc.constantFrom('retry', 'skip', 'resolve'),
})

export interface ConstructWorld {
  definition: SagaDefinition
  child: SagaDefinition
  /** Of its child, if that has one. */
  grandchild: SagaDefinition
  /** Calls by `name` of run and `undo name`, of all sagas. */
  calls: Map<string, number>
  /** Those that ended well, by the same names. */
  ends: Map<string, number>
  /** Runs that were called after the row had been Completed. */
  late: string[]
  /** Keys of the signals that it waits for. */
  signals: { key: string; when: StagePlan['signal'] }[]
}

type Context = {
  sagaId: string
  signal: AbortSignal
  tx?: { query(sql: string, values: unknown[]): Promise<unknown> }
}

/** A definition of these stages, whose code notes what is called. */
export function buildConstructs(
  { stages: plans, compensation, pivot, timeout, deep }: ConstructScenario,
  unique: string,
  storage: StateStorage,
): ConstructWorld {
  const retry = {
    maxAttempts: ATTEMPTS_MAX,
    backoff: 'fixed',
    initialInterval: '1ms',
    jitter: 'none',
  } as const
  const calls: ConstructWorld['calls'] = new Map()
  const ends: ConstructWorld['ends'] = new Map()
  const late: string[] = []
  const signals: ConstructWorld['signals'] = []
  const count = (name: string) => {
    calls.set(name, (calls.get(name) ?? 0) + 1)
    return calls.get(name) ?? 0
  }
  const noteEnd = (name: string) => ends.set(name, (ends.get(name) ?? 0) + 1)

  const short = { ...retry, maxInterval: '5ms' } as const
  const code = (name: string, plan: StagePlan, undoable: boolean) => ({
    retry:
      plan.pause === undefined ? short : { ...retry, initialInterval: plan.pause, maxInterval: plan.pause },
    compensateRetry: short,
    run: async ({ sagaId, signal, tx }: Context) => {
      const times = count(name)
      const step = (await storage.listSteps(sagaId)).find((each) => each.name === name)
      // Whoever was told to stop is not waited for long, and what it reads may be what came after it.
      if (step?.state !== 'Running' && !signal.aborted) late.push(name)
      await tx?.query('INSERT INTO public.done (saga_id, name) VALUES ($1, $2)', [sagaId, name])
      if (plan.fatal && undoable) throw new NonRetryableError('never')
      if (times <= plan.failures) throw new Error('not yet')
      noteEnd(name)
      return name
    },
    ...(undoable
      ? {
          compensate: () => {
            if (count(`undo ${name}`) <= plan.undoFailures) throw new Error('not undone yet')
            noteEnd(`undo ${name}`)
          },
        }
      : {}),
  })

  const calm: StagePlan = { ...(plans[0] as StagePlan), failures: 0, fatal: false, undoFailures: 0 }
  const grandchild = saga(`grandchild-${unique}`, { retry })
    .step('innermost', code('innermost', calm, true) as never)
    .sleep('rest', { for: '1ms' })
  // biome-ignore lint/suspicious/noExplicitAny: as below
  let child: any = saga(`child-${unique}`, { retry }).step('inner', code('inner', calm, true) as never)
  if (deep) child = child.child('grand', { saga: grandchild, input: () => undefined })
  child = child.sleep('nap', { for: '1ms' }).step('outer', code('outer', calm, true))
  // biome-ignore lint/suspicious/noExplicitAny: the number of steps is known at run time only
  let definition: any = saga(`constructs-${unique}`, {
    retry: short,
    compensation,
    ...(timeout ? { timeout } : {}),
  })
  for (const [place, plan] of plans.entries()) {
    if (pivot > 0 && pivot === place) definition = definition.pivot()
    const undoable = pivot === 0 || pivot > place || pivot >= plans.length
    const name = `s${place}`
    const when = plan.when === undefined ? {} : { when: () => plan.when }
    switch (plan.kind) {
      case 'sleep':
        definition = definition.sleep(name, { for: '2ms', ...when })
        break
      case 'signal': {
        const key = `${unique}-${place}`
        if (plan.when !== false) signals.push({ key, when: plan.signal })
        definition = definition.waitFor(name, {
          signal: 'news',
          key: () => key,
          timeout: SIGNAL_WAIT,
          ...when,
        })
        break
      }
      case 'child':
        definition = definition.child(name, { saga: child, input: () => undefined, ...when })
        break
      case 'deliver':
        definition = definition.deliver(name, { event: () => ({ type: 'told', payload: name }), ...when })
        break
      case 'parallel':
        definition = definition.parallel({
          [`${name}a`]: code(`${name}a`, plan, undoable),
          [`${name}b`]: code(`${name}b`, calm, undoable),
          [`${name}c`]: code(`${name}c`, { ...plan, fatal: false }, undoable),
        })
        break
      case 'transaction':
        definition = definition.transaction(name, { ...code(name, plan, undoable), ...when })
        break
      default:
        definition = definition.step(name, { ...code(name, plan, undoable), ...when })
    }
  }
  return { definition, child, grandchild, calls, ends, late, signals }
}
