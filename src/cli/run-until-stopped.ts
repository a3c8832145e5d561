import { once } from 'node:events'

export interface Running {
  /** Rejects when something that must run has ended by itself. */
  crashed?: Promise<never>
}

/**
 * Runs what `start` starts until SIGINT or SIGTERM, also when the signal comes while it is still starting. What was
 * handed to `onStop` is stopped in reverse order, whatever fails. A second signal ends the process at once.
 */
export async function runUntilStopped(
  start: (onStop: (stop: () => Promise<unknown>) => void) => Promise<Running>,
): Promise<void> {
  const stops: (() => Promise<unknown>)[] = []
  const stopped = stopSignal()
  const starting = start((stop) => stops.push(stop))
  let started = false
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
    const failures: unknown[] = []
    for (const stop of stops.reverse()) await stop().catch((error: unknown) => failures.push(error))
    if (failures.length > 0) console.error(`Stopping was not clean: ${failures.join('; ')}`)
  }
  // Interrupted while it started, it may hold on to a connection or a lock that it waits for.
  if (!started) process.exit(0)
}

async function stopSignal(): Promise<void> {
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))
}
