import { randomUUID } from 'node:crypto'
import { startLoop, within } from '../loop/index.js'
import { awaitEnds } from './await-ends.js'
import { batchStarts } from './batch-starts.js'
import { batchWrites } from './batch-writes.js'
import type { SagaDefinition, StepTransaction } from './definition.js'
import { TIMER_MS_MAX } from './duration.js'
import { indexDefinitions } from './index-definitions.js'
import { type HeldRun, keepLeases, RENEWALS_PER_LEASE } from './keep-leases.js'
import { createSlots } from './limit-definitions.js'
import { newSpanId } from './new-ids.js'
import { planRelease, planSetAside } from './plan-ends.js'
import type { Resolution } from './plan-resolution.js'
import { planFirstRun } from './plan-runs.js'
import { type ClaimedSaga, newSteps, type SagaChange, type SagaRecord } from './records.js'
import { cancelSaga, resolveSaga } from './resolve-saga.js'
import { type Begun, runSaga } from './run-saga.js'
import type { Saga } from './saga.js'
import { type StartOptions, startSaga } from './start-saga.js'
import type { CancelRequest, StartOutcome, StateStorage, WriteOutcome } from './state-storage.js'

export const SAGA_LEASE_MS = 30_000
const POLL_MS = 500
const CONCURRENCY = 64
const ABORT_GRACE_MS = 1_000
const STOP_MS = 30_000
/** A start that is under way when the coordinator stops is waited for so long, or as long as its caller waits. */
const START_MS_MAX = 5_000
/** Rows that do not fit their definition, or that this process cannot read, are looked at again this much later: a rollout may be under way. */
const MISFIT_PAUSE_MS = 60_000

export interface CoordinatorOptions {
  readonly storage: StateStorage
  /** Several versions of one are welcome: running sagas stay on theirs. */
  readonly definitions: readonly SagaDefinition[]
  /** What went wrong outside of the steps: the storage, rows that fit no definition. */
  readonly onError: (error: Error, sagaId?: string) => void
  readonly leaseMs?: number
  readonly pollMs?: number
  /** Sagas at once, of all definitions. */
  readonly concurrency?: number
  /** How long a step may take to end once its signal was aborted. */
  readonly abortGraceMs?: number
}

interface SagaHandle {
  readonly id: string
  /** False: the key had been used, and this is the first one. */
  readonly created: boolean
  /** Waits until it is finished, or waits for an operator. */
  result(): Promise<SagaRecord>
}

export interface Coordinator {
  readonly owner: string
  /** How many it runs at the moment. */
  readonly running: number
  start<Given, Input, Outputs>(
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: StartOptions,
  ): Promise<SagaHandle>
  /** In the caller's own transaction: there is a saga if, and only if, it commits. */
  startIn<Given, Input, Outputs>(
    client: StepTransaction,
    definition: Saga<Given, Input, Outputs>,
    input: Given,
    options?: StartOptions,
  ): Promise<SagaHandle>
  cancel(sagaId: string, request: CancelRequest): ReturnType<typeof cancelSaga>
  resolve(sagaId: string, resolution: Resolution): Promise<SagaRecord>
  /** There may be work: looks at once. */
  wake(): void
  /** Lets steps that run finish, up to the time-out; then they are aborted. What is not finished is let go. */
  stop(options?: { timeoutMs?: number }): Promise<void>
}

/** [G14] Runs sagas: claims what is due, keeps its leases, and lets go. Any number of processes may do so. */
export function createCoordinator({
  storage,
  definitions,
  onError,
  leaseMs = SAGA_LEASE_MS,
  pollMs = POLL_MS,
  concurrency = CONCURRENCY,
  abortGraceMs = ABORT_GRACE_MS,
}: CoordinatorOptions): Coordinator {
  const owner = randomUUID()
  const known = indexDefinitions(definitions)
  const slots = createSlots(definitions, concurrency)
  const writes = batchWrites(storage, leaseMs)
  const starts = batchStarts(storage)
  const running = new Map<string, HeldRun & { readonly ended: Promise<void> }>()
  const starting = new Set<Promise<unknown>>()
  const ends = awaitEnds(storage, (id) => running.has(id))
  const timers = new Set<NodeJS.Timeout>()
  let stopping = false
  let stopped = false

  const wakeIn = (ms: number) => {
    const timer = setTimeout(
      () => {
        timers.delete(timer)
        loop.wake()
      },
      Math.min(ms, TIMER_MS_MAX),
    )
    timers.add(timer.unref())
  }

  /** Its slot has been taken; its lease was asked for at this moment. */
  const launch = (
    claimed: ClaimedSaga,
    definition: SagaDefinition,
    heldSinceMs: number,
    begun?: Begun,
  ): void => {
    const { id } = claimed.saga
    const write = async (change: SagaChange): Promise<WriteOutcome> => {
      const askedAtMs = performance.now()
      const outcome = await writes.write(change)
      const entry = running.get(id)
      if (outcome.applied && entry?.run === run) entry.heldSinceMs = Math.max(entry.heldSinceMs, askedAtMs)
      return outcome
    }
    const run = runSaga({
      claimed,
      ...(begun ? { begun } : {}),
      definition,
      storage,
      write,
      leaseMs,
      graceMs: abortGraceMs,
      isStopping: () => stopping,
      onTrouble: (error) => onError(error, id),
    })
    const ended = run.done
      .finally(() => {
        if (running.get(id)?.run === run) running.delete(id)
        slots.give(definition)
        if (slots.wasFull()) loop.wake()
      })
      .then((outcome) => {
        if (outcome.end === 'finished') return ends.tell(id, knownEnd(outcome.saga))
        if (outcome.end === 'released' && !stopping) wakeIn(outcome.wakeInMs)
      })
      // Whoever claims it after its lease finds the truth in the rows.
      .catch((error: Error) => onError(error, id))
    running.set(id, { run, ended, heldSinceMs })
  }

  /** Its lease ran out and was claimed anew, by this very process: two runs of one saga would write over each other. */
  const endOldRun = async (id: string): Promise<void> => {
    for (let old = running.get(id); old !== undefined; old = running.get(id)) {
      old.run.stop('lost')
      await old.ended
    }
  }

  /** The old run may take its time to end; meanwhile the others of the same claim must not wait for their launch. */
  const takeOver = async (claimed: ClaimedSaga, definition: SagaDefinition, askedAtMs: number) => {
    const ended = endOldRun(claimed.saga.id)
    starting.add(ended)
    await ended
    starting.delete(ended)
    if (stopped) slots.give(definition)
    else launch(claimed, definition, askedAtMs)
  }

  const claimDue = async (): Promise<boolean> => {
    if (stopping) return false
    const { request, settle } = slots.wanted()
    const askedAtMs = performance.now()
    const taken: [ClaimedSaga, SagaDefinition][] = []
    const misfits: SagaChange[] = []
    let full = false
    try {
      const claimed = request.limit === 0 ? [] : await storage.claim({ owner, leaseMs, ...request })
      full = claimed.length > 0 && claimed.length === request.limit
      for (const each of claimed) {
        const definition = known.get(each.saga.definitionId, each.saga.definitionVersion)
        if (definition && !each.unreadable && fits(each, definition)) {
          slots.take(definition)
          taken.push([each, definition])
        } else {
          onError(each.unreadable ?? misfit(each.saga), each.saga.id)
          misfits.push(planSetAside(each, MISFIT_PAUSE_MS))
        }
      }
    } finally {
      settle()
    }
    for (const [each, definition] of taken) {
      if (running.has(each.saga.id)) void takeOver(each, definition, askedAtMs)
      else launch(each, definition, askedAtMs)
    }
    if (misfits.length > 0) await storage.write(misfits, leaseMs)
    return full
  }

  const loop = startLoop({
    async round() {
      await ends.look()
      return claimDue()
    },
    idleMs: Math.min(pollMs, leaseMs / RENEWALS_PER_LEASE),
    onError,
    errorPauseMsMax: Math.max(100, leaseMs / RENEWALS_PER_LEASE),
  })

  const leases = keepLeases({ storage, owner, running, leaseMs, pollMs, onError })

  const wake = () => {
    leases.wake()
    loop.wake()
  }

  /** Held from its first moment on: no claim is needed. */
  const startHere = async (
    definition: SagaDefinition,
    input: unknown,
    options: StartOptions,
  ): Promise<StartOutcome> => {
    slots.take(definition)
    let launched = false
    const askedAtMs = performance.now()
    const begun = { index: 0, spanId: newSpanId() }
    const lease = { owner, leaseMs, events: planFirstRun(begun.spanId) }
    const underWay = startSaga(starts, definition, input, { ...options, lease })
    starting.add(underWay)
    try {
      const outcome = await underWay
      const claimed = newlyStarted(outcome.saga, definition)
      if (outcome.created && !stopped) {
        launch(claimed, definition, askedAtMs, begun)
        launched = true
      } else if (outcome.created) {
        const run = { ...claimed, definition }
        await storage
          .write([planRelease(run, 0)], leaseMs)
          .catch((error: Error) => onError(error, claimed.saga.id))
      }
      return outcome
    } finally {
      starting.delete(underWay)
      if (!launched) slots.give(definition)
    }
  }

  const handleOf = (id: string, created: boolean): SagaHandle => ({
    id,
    created,
    result() {
      const ended = ends.wait(id)
      // It may be over already; one that is run elsewhere is looked at with every round.
      if (!running.has(id)) void ends.tell(id).catch(onError)
      return ended
    },
  })

  return {
    owner,
    get running() {
      return running.size
    },
    async start(definition, input, options = {}) {
      const here = known.get(definition.name, definition.version) === definition
      const started =
        !here || stopping || !slots.mayTake(definition)
          ? startSaga(storage, definition, input, options)
          : startHere(definition, input, options)
      const { created, saga } = await started
      return handleOf(saga.id, created)
    },
    async startIn(client, definition, input, options = {}) {
      const { created, saga } = await startSaga(storage, definition, input, { ...options, tx: client })
      return handleOf(saga.id, created)
    },
    async cancel(sagaId, request) {
      const outcome = await cancelSaga(storage, sagaId, request)
      wake()
      return outcome
    },
    async resolve(sagaId, resolution) {
      const saga = await resolveSaga(storage, sagaId, resolution)
      wake()
      return saga
    },
    wake,
    async stop({ timeoutMs = STOP_MS } = {}) {
      stopping = true
      for (const timer of timers) clearTimeout(timer)
      await waitFor(Math.min(START_MS_MAX, timeoutMs), Promise.allSettled(starting))
      // One that takes longer is let go when it comes: nobody would wait for its run any more.
      stopped = true
      // Leases are kept until the last one has ended.
      await waitFor(timeoutMs, Promise.all([...running.values()].map(({ ended }) => ended)))
      for (const { run } of running.values()) run.stop('stopping')
      await waitFor(abortGraceMs * 2, Promise.all([...running.values()].map(({ ended }) => ended)))
      writes.giveUp()
      await waitFor(abortGraceMs, Promise.all([loop.stop(), leases.stop()]))
    },
  }
}

function newlyStarted(saga: SagaRecord, { steps }: SagaDefinition): ClaimedSaga {
  return {
    saga,
    steps: newSteps(
      saga,
      steps.map(({ name, retry }) => ({ name, maxAttempts: retry.max_attempts })),
    ),
    signals: { cancelRequested: false, overdue: false },
    recovered: false,
  }
}

/** A completed saga is known as its last write left it; of others, an operator or a cancel may have said more. */
function knownEnd(saga: SagaRecord | undefined): SagaRecord | undefined {
  return saga?.state === 'Completed' ? saga : undefined
}

/** Waits for the work, but not longer than this; how it ends is told elsewhere. */
function waitFor(ms: number, work: Promise<unknown>): Promise<unknown> {
  return within(
    ms,
    work.catch(() => {}),
    () => {},
  )
}

function fits({ saga, steps }: ClaimedSaga, definition: SagaDefinition): boolean {
  return (
    steps.length === definition.steps.length &&
    saga.totalSteps === steps.length &&
    steps.every(({ name }, index) => name === definition.steps[index]?.name)
  )
}

function misfit({ id, definitionId, definitionVersion }: SagaRecord): Error {
  return new Error(
    `saga ${id} was started with other steps than ${definitionId} version ${definitionVersion} has now: ` +
      'a definition whose steps change needs a new version',
  )
}
