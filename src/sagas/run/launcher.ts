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

/** The delay of the first look after an event was published and its deliveries are awaited. */
const FIRST_LOOK_MS = 150

type LaunchedRun = HeldRun & { readonly ended: Promise<void> }

export interface LauncherOptions {
  readonly storage: StateStorage
  readonly writes: BatchedWrites
  readonly slots: DefinitionSlots
  readonly ends: Pick<SagaEnds, 'tell'>
  /** The running sagas, by id; maintained here. */
  readonly running: Map<string, LaunchedRun>
  readonly leaseMs: number
  readonly graceMs: number
  /** Poll interval; due sagas within it get a timer. */
  readonly pollMs: number
  /** Runs that are about to start: a stop waits for them. */
  readonly starting: Set<Promise<unknown>>
  readonly isStopping: () => boolean
  /** True when nothing would wait for a new run any more. */
  readonly isStopped: () => boolean
  readonly onError: (error: Error, sagaId?: string) => void
  /** Makes the coordinator look for work. */
  readonly wake: () => void
}

export interface Launcher {
  /** Runs a saga whose slot was taken and whose lease was requested at `heldSinceMs`. */
  launch(claimed: ClaimedSaga, definition: SagaDefinition, heldSinceMs: number, begun?: Begun): void
  /** Like `launch`, but first ends a local run of the saga whose lease expired: two runs would overwrite each other. */
  takeOver(claimed: ClaimedSaga, definition: SagaDefinition, heldSinceMs: number): void
  /** Cancels all pending timers. */
  stopTimers(): void
}

/** Runs the sagas that this process holds, and reports their ends. */
export function createLauncher(options: LauncherOptions): Launcher {
  const { storage, writes, slots, ends, running, leaseMs, pollMs, onError, wake } = options
  const { starting, isStopping, isStopped } = options
  const timers = new Set<NodeJS.Timeout>()

  /** Only for wake-ups before the next poll: sagas that sleep longer need no timer. */
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
        // Most deliveries end by then; polling finds the others.
        if (outcome.applied && change.publications) wakeIn(FIRST_LOOK_MS)
        // Started children, and sagas for which there is news.
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
        // The coordinator that claims it after the lease reads its state from the rows.
        .catch((error: Error) => onError(error, id))
      running.set(id, { run, ended, heldSinceMs })
    },
    takeOver(claimed, definition, heldSinceMs) {
      const { id } = claimed.saga
      if (!running.has(id)) return launcher.launch(claimed, definition, heldSinceMs)
      // The old run may take time to end: other sagas of the claim do not wait for it.
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

/** A completed saga is as its last write left it; in other states, an operator or a cancel may have changed it. */
function knownEnd(saga: SagaRecord | undefined): SagaRecord | undefined {
  return saga?.state === 'Completed' ? saga : undefined
}
