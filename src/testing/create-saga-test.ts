import { parseDuration } from '../duration.js'
import { isFinal, sagaMachine } from '../model/index.js'
import {
  createMemoryStorage,
  type SagaDefinition as Definition,
  indexDefinitions,
  resolveSaga,
  runSaga,
  sendSignal,
  startSaga,
} from '../sagas/index.js'
import { type FaultPlace, planFaults, StepTimedOut } from './plan-faults.js'
import { reportRun } from './report-run.js'
import { startProcess } from './run-process.js'
import type { Saga, SagaDefinition, StepTransaction } from './saga-face.js'
import type { SagaTestRun } from './saga-test-run.js'

const LEASE_MS = 30_000
const ABORT_GRACE_MS = 50
/** A saga that is taken up more often than this is in an endless loop. */
const ROUNDS_MAX = 10_000
const SAGAS_MAX = 1_000
const NEWS_BATCH = 1_000

export interface SagaTestOptions {
  /** The definitions to run, in one or several versions; children are included automatically. */
  sagas: readonly SagaDefinition[]
  /** The clock's initial time. */
  now?: Date | undefined
  /** The `tx` of transaction steps; what they write there is yours to inspect, and is not rolled back. */
  tx?: StepTransaction | undefined
  /** The states of an event's deliveries, asked whenever a saga looks. Default: the event has no subscription. */
  deliveries?: ((event: SagaTestPublished) => SagaTestDeliveries) | undefined
}

/** An event that a saga published: by a `deliver` step, or as an entry of its history. */
export interface SagaTestPublished {
  readonly id: string
  readonly sagaId: string
  readonly type: string
  readonly payload: unknown
}

/** The number of deliveries in each state; open ones have not ended. */
export interface SagaTestDeliveries {
  readonly completed?: number
  readonly deadLettered?: number
  readonly open?: number
}

export interface SagaTestResolution {
  action: 'retry' | 'skip' | 'resolve'
  by?: string | undefined
  why?: string | undefined
}

export interface SagaTestSignal {
  name: string
  key: string
  payload?: unknown
}

export interface SagaTestPause {
  /** Stops when the step of this name begins to wait. */
  until?: string | undefined
}

export interface SagaTest {
  readonly now: Date
  /** The events that sagas published, in order. */
  readonly published: readonly SagaTestPublished[]
  /** Moves the clock, by `'10m'` or milliseconds; steps may call it to simulate their duration. */
  advance(by: number | string): void
  /** Makes the step fail from now on, at this place. */
  fail(step: string, error?: Error, place?: FaultPlace): void
  /** The same, with a time-out as the failure. */
  timeOut(step: string, place?: FaultPlace): void
  /** The process dies at this write, and another takes over when the lease has expired. May be called several times. */
  crash(at: { before: number } | { after: number }): void
  /** Cancels the saga right after this write. */
  cancelAfter(write: number): void
  /** Sends a signal, before the saga waits for it or while it does. */
  signal(signal: SagaTestSignal): Promise<void>
  /**
   * Runs the saga to its end, or until it waits for an operator or for a signal without a time limit. Sleeps, pauses
   * and leases only advance the clock.
   */
  run<Given, Input, Outputs>(
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: SagaTestPause & { key?: string | undefined },
  ): Promise<SagaTestRun<Outputs>>
  /** Continues a saga from where it waits. */
  resume(id: string, options?: SagaTestPause): Promise<SagaTestRun>
  /** Resolves a Failed saga and continues it. */
  resolve(id: string, resolution: SagaTestResolution): Promise<SagaTestRun>
}

/** Runs sagas in memory, with a clock of its own, by the coordinator's own code. */
export function createSagaTest({ sagas, now = new Date(), tx, deliveries }: SagaTestOptions): SagaTest {
  let clockMs = now.getTime()
  const storage = createMemoryStorage({
    now: () => clockMs,
    ...(tx && { tx }),
    ...(deliveries && { deliveries }),
  })
  const faults = planFaults()
  const definitions = indexDefinitions(sagas as readonly Definition[]).all.map(
    (definition) => faults.wrap(definition) as Definition,
  )
  const interruptions = { crashes: [] as { before?: number; after?: number }[], cancels: [] as number[] }
  let lives = 0

  /** Runs whatever is due, once. */
  const runDue = async (count: { writes: number; sagaId: string }): Promise<boolean> => {
    const claimed = await storage.claim({
      owner: `test process ${++lives}`,
      leaseMs: LEASE_MS,
      limit: 1,
      definitions: definitions.map(({ name, version }) => ({ name, version, limit: 1 })),
    })
    for (const each of claimed) {
      const { definitionId, definitionVersion } = each.saga
      const definition = definitions.find(
        ({ name, version }) => name === definitionId && version === definitionVersion,
      ) as Definition
      const process = startProcess(storage, LEASE_MS, count, interruptions)
      const run = runSaga({
        claimed: each,
        definition,
        storage: process,
        write: process.write,
        leaseMs: LEASE_MS,
        graceMs: ABORT_GRACE_MS,
        isStopping: () => false,
      })
      await Promise.race([run.done, process.died])
    }
    return claimed.length > 0
  }

  /** When the first of all sagas is due; a child's time counts for its parent as well. */
  const nextWakeMs = async (): Promise<number | undefined> => {
    const open = await storage.listSagas({ limit: SAGAS_MAX })
    const times = open.flatMap(({ wakeAt }) => wakeAt?.getTime() ?? [])
    return times.length > 0 ? Math.min(...times) : undefined
  }

  const isAt = async (id: string, step: string | undefined): Promise<boolean> => {
    if (step === undefined) return false
    const steps = await storage.listSteps(id)
    return steps.some(({ name, state }) => name === known(definitions, step) && state === 'Running')
  }

  const drive = async (id: string, { until }: SagaTestPause = {}): Promise<SagaTestRun> => {
    const count = { writes: 0, sagaId: id }
    const startedMs = clockMs
    faults.calls.length = 0
    for (let round = 0; round < ROUNDS_MAX; round++) {
      await storage.passNewsOn(NEWS_BATCH)
      const saga = await storage.getSaga(id)
      const wakeMs = await nextWakeMs()
      const ended = saga === undefined || isFinal(sagaMachine, saga.state)
      // Children of a saga that has ended are completed after it.
      const idle = wakeMs === undefined || (ended && wakeMs > clockMs)
      if (idle || (saga?.leaseOwner === null && (await isAt(id, until)))) {
        const { writes } = count
        return reportRun(storage, id, { calls: [...faults.calls], writes, waitedMs: clockMs - startedMs })
      }
      if (!(await runDue(count))) clockMs = Math.max(clockMs + 1, wakeMs)
    }
    throw new Error(`saga ${id} has not ended after ${ROUNDS_MAX} rounds`)
  }

  return {
    get now() {
      return new Date(clockMs)
    },
    published: storage.published,
    advance(by) {
      const ms = typeof by === 'number' ? by : parseDuration(by)
      if (ms === undefined || !(ms >= 0)) throw new TypeError(`"${by}" is no time like 500ms, 30s or 5m`)
      clockMs += ms
    },
    fail(step, error = new Error(`${step} was told to fail`), place = {}) {
      faults.add({ ...place, step: known(definitions, step), error })
    },
    timeOut(step, place = {}) {
      const error = new StepTimedOut('it took longer than the test allows')
      faults.add({ ...place, step: known(definitions, step), error })
    },
    crash: (at) => void interruptions.crashes.push({ ...at }),
    cancelAfter: (write) => void interruptions.cancels.push(write),
    async run<Given, Input, Outputs>(
      definition: Saga<Given, Input, Outputs>,
      input: Given,
      { key, until }: SagaTestPause & { key?: string | undefined } = {},
    ) {
      const { saga } = await startSaga(storage, definition as Definition, input, key ? { key } : {})
      return (await drive(saga.id, { until })) as SagaTestRun<Outputs>
    },
    resume: drive,
    async signal(signal) {
      await sendSignal(storage, signal)
    },
    async resolve(id, { action, by = 'test', why = 'told so' }) {
      await resolveSaga(storage, id, { action, by, why })
      return drive(id)
    },
  }
}

function known(definitions: readonly Definition[], name: string): string {
  if (definitions.some(({ steps }) => steps.some((step) => step.name === name))) return name
  throw new TypeError(`no saga of this test has a step "${name}"`)
}
