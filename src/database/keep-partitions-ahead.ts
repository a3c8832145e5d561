import type pg from 'pg'

/** Headroom is two partitions (2,000,000 events by default), so that many rounds may be missed. */
const PARTITION_INTERVAL_MS = 30_000

export interface PartitionLoopOptions {
  /** Under the role schema_maintainer. */
  pool: pg.Pool
  intervalMs?: number
  /** A round that failed; the next one tries again, and readiness tells when the headroom gets low. */
  onError: (error: Error) => void
}

export interface PartitionLoop {
  stop(): Promise<void>
}

/** Makes partitions ahead of the event ids, at once and then every 30 s, in as many processes as like to. */
export function keepPartitionsAhead({
  pool,
  intervalMs = PARTITION_INTERVAL_MS,
  onError,
}: PartitionLoopOptions): PartitionLoop {
  const stopping = new AbortController()
  const loop = (async () => {
    while (!stopping.signal.aborted) {
      await pool.query('SELECT sagapost.ensure_partitions()').catch(onError)
      await pause(intervalMs, stopping.signal)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await loop
    },
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
