import { once } from 'node:events'

export interface Running {
  /** Rejects when a required component exits unexpectedly. */
  crashed?: Promise<never>
}

/** False when work was abandoned and the process must not wait for it. */
type Stop = () => Promise<unknown>

const EXIT_NOT_CLEAN = 1

/**
 * Runs what `start` starts until SIGINT or SIGTERM, which may also arrive during the start. The callbacks passed to
 * `onStop` run in reverse order, even if some fail. At the deadline the process exits with code 1; a second signal ends
 * it at once.
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
    starting.catch(() => {}) // a start interrupted by a signal may reject unobserved
    if (deadlineMs !== undefined) setTimeout(endLate, deadlineMs, deadlineMs).unref()
    const failures: unknown[] = []
    for (const stop of stops.reverse()) {
      const outcome = await stop().catch((error: unknown) => failures.push(error))
      if (outcome === false) clean = false
    }
    if (failures.length > 0) console.error(`Shutdown was not clean: ${failures.join('; ')}`)
  }
  // An interrupted start may still wait for a connection or a lock.
  if (!started) process.exit(0)
  if (!clean) process.exit(EXIT_NOT_CLEAN)
}

/** Something other than the parts is late, such as the embedded PostgreSQL, which exits with this process. */
function endLate(deadlineMs: number): void {
  console.error(`Shutdown took longer than ${deadlineMs / 1_000} s; the process exited at the deadline`)
  process.exit(EXIT_NOT_CLEAN)
}

async function stopSignal(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
}
