import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultSystem } from './fault-system.js'

const POLL_MS = 50
const SERVING_MS_MAX = 90_000

/** Waits until every process serves (again). Throws with those that do not. */
export async function untilServing({ processes }: FaultSystem): Promise<void> {
  const deadline = performance.now() + SERVING_MS_MAX
  for (;;) {
    const missing = [...processes.values()].filter((process) => !process.isServing())
    if (missing.length === 0) return
    if (performance.now() > deadline) {
      throw new Error(`not serving: ${missing.map(({ name }) => name).join(', ')}`)
    }
    await sleep(POLL_MS)
  }
}
