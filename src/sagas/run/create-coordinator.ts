import { randomUUID } from 'node:crypto'
import { startLoop, within } from '../../loop/index.js'
import { indexDefinitions } from '../define/index.js'
import { createBatchedStarts } from './batched-starts.js'
import { createBatchedWrites } from './batched-writes.js'
import { claimDue } from './claim-due.js'
import type { Coordinator, CoordinatorOptions, SagaHandle } from './coordinator.js'
import { createDefinitionSlots } from './definition-slots.js'
import { keepLeases, RENEWALS_PER_LEASE } from './keep-leases.js'
import { createLauncher, type LauncherOptions } from './launcher.js'
import { createSagaEnds } from './saga-ends.js'
import { startHeld } from './start-held.js'
import { startSaga } from './start-saga.js'

export const SAGA_LEASE_MS = 30_000
const POLL_MS = 500
const CONCURRENCY = 64
const ABORT_GRACE_MS = 1_000
const STOP_MS = 30_000
/** How long a stop waits for starts in progress, or less if its caller waits less. */
const START_MS_MAX = 5_000
/** The most news that one statement passes on. */
const NEWS_BATCH = 500
/** Expired signals are removed at this interval, in batches, until none are left. */
const SIGNAL_CLEANUP_MS = 60_000
const SIGNAL_CLEANUP_BATCH = 1_000

/** [G14] Runs sagas: claims due ones, renews their leases, and releases them. Any number of processes may run one. */
export function createCoordinator({
  storage,
  definitions,
  onError,
  leaseMs = SAGA_LEASE_MS,
  pollMs = POLL_MS,
  concurrency = CONCURRENCY,
  abortGraceMs: graceMs = ABORT_GRACE_MS,
}: CoordinatorOptions): Coordinator {
  const owner = randomUUID()
  const known = indexDefinitions(definitions)
  const slots = createDefinitionSlots(known.all, concurrency)
  const writes = createBatchedWrites(storage, leaseMs)
  const starts = createBatchedStarts(storage)
  const running: LauncherOptions['running'] = new Map()
  const starting = new Set<Promise<unknown>>()
  const ends = createSagaEnds(storage, (id) => running.has(id))
  let stopping = false
  let stopped = false
  let signalsCleanedAtMs = performance.now()
  const shared = { storage, owner, leaseMs, slots, onError }
  const launcher = createLauncher({
    ...{ storage, writes, slots, ends, running, leaseMs, graceMs, pollMs, onError },
    starting,
    isStopping: () => stopping,
    isStopped: () => stopped,
    wake: () => loop.wake(),
  })

  /** A failure here does not prevent claiming sagas that are due by time. */
  const passNewsOn = async (): Promise<boolean> => {
    try {
      return await storage.passNewsOn(NEWS_BATCH)
    } catch (error) {
      onError(error as Error)
      return false
    }
  }

  const cleanUpSignals = async (): Promise<boolean> => {
    if (performance.now() - signalsCleanedAtMs < SIGNAL_CLEANUP_MS) return false
    if ((await storage.cleanUpSignals(SIGNAL_CLEANUP_BATCH)) >= SIGNAL_CLEANUP_BATCH) return true
    signalsCleanedAtMs = performance.now()
    return false
  }

  const lookMs = Math.min(pollMs, leaseMs / RENEWALS_PER_LEASE)
  let nextDueInMs = lookMs
  const loop = startLoop({
    async round() {
      await ends.look()
      if (stopping) return false
      const { news, dueInMs } = await storage.lookAhead(known.all)
      nextDueInMs = dueInMs || lookMs
      const moreNews = news && (await passNewsOn())
      const claimed =
        news || dueInMs === 0 ? await claimDue({ ...shared, known, launcher, isStopping: () => stopping }) : 0
      const moreSignals = await cleanUpSignals()
      // What is due after these is not known yet.
      return moreNews || moreSignals || claimed > 0
    },
    idleMs: () => Math.min(nextDueInMs, lookMs),
    onError,
    errorPauseMsMax: Math.max(100, leaseMs / RENEWALS_PER_LEASE),
  })

  const leases = keepLeases({ storage, owner, running, leaseMs, pollMs, onError })

  const handleOf = (id: string, created: boolean): SagaHandle => ({
    id,
    created,
    result() {
      const ended = ends.wait(id)
      // It may have ended already; a saga that runs elsewhere is checked every round.
      if (!running.has(id)) void ends.tell(id).catch(onError)
      return ended
    },
  })

  const allEnded = () => Promise.all([...running.values()].map(({ ended }) => ended))

  return {
    owner,
    get running() {
      return running.size
    },
    async start(definition, input, options = {}) {
      const here = known.get(definition.name, definition.version) === definition
      const held = here && !stopping && slots.mayTake(definition)
      const started = held
        ? startHeld({ ...shared, starts, launcher, isStopped: () => stopped }, definition, input, options)
        : startSaga(storage, definition, input, options)
      if (held) starting.add(started)
      const { created, saga } = await started.finally(() => starting.delete(started))
      return handleOf(saga.id, created)
    },
    wake() {
      leases.wake()
      loop.wake()
    },
    async stop({ timeoutMs = STOP_MS } = {}) {
      stopping = true
      launcher.stopTimers()
      await waitFor(Math.min(START_MS_MAX, timeoutMs), Promise.allSettled(starting))
      // A later start is released when it arrives: nothing would wait for its run any more.
      stopped = true
      // Leases are renewed until the last run has ended.
      await waitFor(timeoutMs, allEnded())
      for (const { run } of running.values()) run.stop('stopping')
      await waitFor(graceMs * 2, allEnded())
      writes.giveUp()
      await waitFor(graceMs, Promise.all([loop.stop(), leases.stop()]))
    },
  }
}

/** Waits for the work for at most this long; its failure is reported elsewhere. */
function waitFor(ms: number, work: Promise<unknown>): Promise<unknown> {
  return within(
    ms,
    work.catch(() => {}),
    () => {},
  )
}
