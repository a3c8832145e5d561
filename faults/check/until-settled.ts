import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultSystem } from '../system/fault-system.js'

const POLL_MS = 150

// Partial indexes only.
const openWork = `
  SELECT EXISTS (SELECT FROM sagapost.event_routing_queue)
      OR EXISTS (SELECT FROM sagapost.webhook_delivery_sagas WHERE status IN ('Pending', 'InProgress', 'PendingRetry'))
      OR EXISTS (SELECT FROM sagapost.saga_instances WHERE state IN (0, 1, 2, 4)) AS open`

/** Waits until everything has come to its end; false when it has not within the time. */
export async function untilSettled(system: FaultSystem, msMax: number): Promise<boolean> {
  const deadline = performance.now() + msMax
  const direct = system.openDirect()
  try {
    for (;;) {
      const { rows } = await direct.query<{ open: boolean }>(openWork)
      if (rows[0]?.open === false) return true
      if (performance.now() > deadline) return false
      await sleep(POLL_MS)
    }
  } finally {
    await direct.end().catch(() => {})
  }
}
