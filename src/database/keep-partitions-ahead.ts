import type pg from 'pg'
import { type Loop, startLoop } from '../loop/index.js'

/** The headroom is two partitions (2,000,000 events by default), so several rounds may be missed. */
const PARTITION_INTERVAL_MS = 30_000
/** While requests fail for want of a partition, each of them asks for one. */
const SPACING_MS = 1_000

export interface PartitionLoopOptions {
  /** Under the role schema_maintainer. */
  pool: pg.Pool
  intervalMs?: number
  /** A round failed; the next one tries again, and readiness reports a low headroom. */
  onError: (error: Error) => void
}

/**
 * Creates partitions ahead of the event ids and of the sagas' histories, at once and then every 30 s. Any number of
 * processes may run it.
 */
export function keepPartitionsAhead({
  pool,
  intervalMs = PARTITION_INTERVAL_MS,
  onError,
}: PartitionLoopOptions): Loop {
  return startLoop({
    round: async () => {
      await pool.query('SELECT sagapost.ensure_partitions()')
      // Does nothing unless the owner has partitioned saga_events.
      await pool.query('SELECT sagapost.ensure_saga_event_partitions()')
      return false
    },
    idleMs: intervalMs,
    spacingMs: Math.min(intervalMs, SPACING_MS),
    onError,
  })
}
