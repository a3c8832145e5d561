import type { SagaDefinition } from '../definition.js'
import { TIMER_MS_MAX } from '../duration.js'
import type { ClaimedSaga, SagaChange, SagaRecord } from '../records.js'
import type { StateStorage, WriteOutcome } from '../storage/index.js'
import type { BatchedWrites } from './batched-writes.js'
import type { DefinitionSlots } from './definition-slots.js'
import type { Begun } from './held-saga.js'
import type { HeldRun } from './keep-leases.js'
import { runSaga } from './run-saga.js'
import type { SagaEnds } from './saga-ends.js'

/** After an event was published whose deliveries are waited for. */
const FIRST_LOOK_MS = 150

type LaunchedRun = HeldRun & { readonly ended: Promise<void> }

export interface LauncherOptions {
  readonly storage: StateStorage
  readonly writes: BatchedWrites
  readonly slots: DefinitionSlots
  readonly ends: Pick<SagaEnds, 'tell'>
  /** What runs, by the saga's id; kept here. */
  readonly running: Map<string, LaunchedRun>
  readonly leaseMs: number
  readonly graceMs: number
  /** Looks by itself as often. */
  readonly pollMs: number
  /** What is on its way to run: a stop waits for it. */
  readonly starting: Set<Promise<unknown>>
  readonly isStopping: () => boolean
  /** Nobody would wait for a new run any more. */
  readonly isStopped: () => boolean
  readonly onError: (error: Error, sagaId?: string) => void
  /** There may be work. */
  readonly wake: () => void
}

export interface Launcher {
  /** Its slot has been taken; its lease was asked for at this moment. */
  launch(claimed: ClaimedSaga, definition: SagaDefinition, heldSinceMs: number, begun?: Begun): void
  /** As `launch`, also of one that runs here under a lease that ran out: two runs would write over each other. */
  takeOver(claimed: ClaimedSaga, definition: SagaDefinition, heldSinceMs: number): void
  /** No timer wakes anybody any more. */
  stopTimers(): void
}

/** Runs sagas that this process holds, and tells their ends. */
export function createLauncher(options: LauncherOptions): Launcher {
  const { storage, writes, slots, ends, running, leaseMs, pollMs, onError, wake } = options
  const { starting, isStopping, isStopped } = options
  const timers = new Set<NodeJS.Timeout>()

  /** Only what comes before the next look: however many sagas sleep, none of them has a timer. */
  const wakeIn = (ms: number | null) => {
    if (ms === null || ms > Math.min(pollMs, TIMER_MS_MAX) || isStopping()) return
    const timer = setTimeout(() => {
      timers.delete(timer)
      wake()
    }, ms)
    timers.add(timer.unref())
  }

  const endOldRun = async (id: string): Promise<void> => {
    for (let old = running.get(id); old !== undefined; old = running.get(id)) {
      old.run.stop('lost')
      await old.ended
    }
  }

  const launcher: Launcher = {
    launch(claimed, definition, heldSinceMs, begun) {
      const { id } = claimed.saga
      const write = async (change: SagaChange): Promise<WriteOutcome> => {
        const askedAtMs = performance.now()
        const outcome = await writes.write(change)
        const entry = running.get(id)
        if (outcome.applied && entry?.run === run) entry.heldSinceMs = Math.max(entry.heldSinceMs, askedAtMs)
        // Most deliveries take no longer; those that do are found by looking as often as ever.
        if (outcome.applied && change.publications) wakeIn(FIRST_LOOK_MS)
        // Children that were started, and sagas that there is news for.
        if (outcome.applied && (change.children || change.wakes) && !isStopping()) wake()
        return outcome
      }
      const run = runSaga({
        claimed,
        ...(begun ? { begun } : {}),
        definition,
        storage,
        write,
        leaseMs,
        graceMs: options.graceMs,
        isStopping,
        onTrouble: (error) => onError(error, id),
      })
      const ended = run.done
        .finally(() => {
          if (running.get(id)?.run === run) running.delete(id)
          slots.give(definition)
          if (slots.wasFull()) wake()
        })
        .then((outcome) => {
          if (outcome.end === 'finished') return ends.tell(id, knownEnd(outcome.saga))
          if (outcome.end === 'released') wakeIn(outcome.wakeInMs)
        })
        // Whoever claims it after its lease finds the truth in the rows.
        .catch((error: Error) => onError(error, id))
      running.set(id, { run, ended, heldSinceMs })
    },
    takeOver(claimed, definition, heldSinceMs) {
      const { id } = claimed.saga
      if (!running.has(id)) return launcher.launch(claimed, definition, heldSinceMs)
      // The old run may take its time to end: the others of the same claim do not wait for it.
      const ended = endOldRun(id).then(() => {
        starting.delete(ended)
        if (isStopped()) slots.give(definition)
        else launcher.launch(claimed, definition, heldSinceMs)
      })
      starting.add(ended)
    },
    stopTimers() {
      for (const timer of timers) clearTimeout(timer)
    },
  }
  return launcher
}

/** A completed saga is known as its last write left it; of others, an operator or a cancel may have said more. */
function knownEnd(saga: SagaRecord | undefined): SagaRecord | undefined {
  return saga?.state === 'Completed' ? saga : undefined
}
