import { once } from 'node:events'

export interface Running {
  /** Rejects when something that must run has ended by itself. */
  crashed?: Promise<never>
}

/** False: something was given up, and the process must not wait for it. */
type Stop = () => Promise<unknown>

const EXIT_NOT_CLEAN = 1

/**
 * Runs what `start` starts until SIGINT or SIGTERM, also when the signal comes while it is still starting. What was
 * handed to `onStop` is stopped in reverse order, whatever fails; at the deadline the process ends all the same, with
 * exit code 1. A second signal ends it at once.
 */
export async function runUntilStopped(
  start: (onStop: (stop: Stop) => void) => Promise<Running>,
  { deadlineMs }: { deadlineMs?: number } = {},
): Promise<void> {
  const stops: Stop[] = []
  const stopped = stopSignal()
  const starting = start((stop) => stops.push(stop))
  let started = false
  let clean = true
  try {
    await Promise.race([
      stopped,
      starting.then(({ crashed }) => {
        started = true
        return crashed ?? stopped
      }),
    ])
  } finally {
    starting.catch(() => {}) // what is interrupted while it starts may say so to nobody
    if (deadlineMs !== undefined) setTimeout(endLate, deadlineMs, deadlineMs).unref()
    const failures: unknown[] = []
    for (const stop of stops.reverse()) {
      const outcome = await stop().catch((error: unknown) => failures.push(error))
      if (outcome === false) clean = false
    }
    if (failures.length > 0) console.error(`Shutdown was not clean: ${failures.join('; ')}`)
  }
  // Interrupted while it started, it may hold on to a connection or a lock that it waits for.
  if (!started) process.exit(0)
  if (!clean) process.exit(EXIT_NOT_CLEAN)
}

/** Something else than the parts holds it up: the embedded PostgreSQL, say, which ends with this process. */
function endLate(deadlineMs: number): void {
  console.error(`Shutdown took longer than ${deadlineMs / 1_000} s; the process exited at the deadline`)
  process.exit(EXIT_NOT_CLEAN)
}

async function stopSignal(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
}
