import { type Loop, startLoop, within } from '../../loop/index.js'
import type { StateStorage } from '../storage/index.js'
import type { RunningSaga } from './run-saga.js'

/** A lease is renewed after a third of its time: two renewals may fail. */
export const RENEWALS_PER_LEASE = 3

export interface HeldRun {
  readonly run: RunningSaga
  /** When the last successful renewal was requested, by this process's clock: the lease lasts at least from then. */
  heldSinceMs: number
}

export interface LeaseOptions {
  readonly storage: Pick<StateStorage, 'renew' | 'readSignals'>
  readonly owner: string
  readonly running: ReadonlyMap<string, HeldRun>
  readonly leaseMs: number
  readonly pollMs: number
  readonly onError: (error: Error) => void
}

/**
 * Renews the leases of running sagas and reads their signals, in a loop of its own that no claim, look or write delays.
 * A run whose lease has expired by this process's clock is stopped, whether or not the database answers.
 */
export function keepLeases({ storage, owner, running, leaseMs, pollMs, onError }: LeaseOptions): Loop {
  const shareMs = leaseMs / RENEWALS_PER_LEASE
  let renewedAtMs = performance.now()

  const stopExpired = () => {
    const now = performance.now()
    for (const { run, heldSinceMs } of running.values()) if (now - heldSinceMs > leaseMs) run.stop('lost')
  }

  return startLoop({
    async round() {
      stopExpired()
      const held = [...running]
      if (held.length === 0) return false
      const ids = held.map(([id]) => id)
      const askedAtMs = performance.now()
      const renewing = askedAtMs - renewedAtMs >= shareMs
      const renewed = new Set(
        renewing ? await inTime(shareMs, storage.renew(owner, ids, leaseMs)) : undefined,
      )
      const signals = await inTime(shareMs, storage.readSignals(owner, ids))
      // A saga that was skipped is retried in the next round.
      if (renewing && [...signals.keys()].every((id) => renewed.has(id))) renewedAtMs = askedAtMs
      for (const [id, entry] of held) {
        const heard = signals.get(id)
        if (heard) {
          if (renewed.has(id)) entry.heldSinceMs = Math.max(entry.heldSinceMs, askedAtMs)
          entry.run.tell(heard)
        } else if (running.get(id) === entry) entry.run.stop('lost')
      }
      return false
    },
    idleMs: Math.min(pollMs, shareMs),
    onError(error) {
      stopExpired()
      onError(error)
    },
    errorPauseMsMax: Math.max(100, shareMs),
  })
}

/** A later answer is of no use. */
function inTime<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer> {
  return within(ms, answer, () => {
    throw new Error(`leases were not renewed within ${Math.round(ms)} ms`)
  })
}
