import { setTimeout as sleep } from 'node:timers/promises'
import type { FaultSystem } from '../system/fault-system.js'
import { startServer } from '../system/start-server.js'
import type { FaultOutcome } from './apply-fault.js'

/** `immediate`, or SIGKILL to all of it at once; away for some time, and back on the same data directory. */
export async function crashPostgres(
  system: FaultSystem,
  awayMs: number,
  how: 'crash' | 'kill' = 'crash',
): Promise<FaultOutcome> {
  const { cluster, port } = system.server
  const fromMs = Date.now()
  await system.server[how]()
  system.crashes.push({ fromMs, toMs: Date.now() })
  await sleep(awayMs)
  await restartServer(system, cluster, port)
  return { ran: true }
}

export async function restartServer(
  system: FaultSystem,
  cluster = system.server.cluster,
  port = system.server.port,
): Promise<void> {
  system.server = await startServer(cluster, port)
  system.accepted.push(system.server.acceptedAtMs)
}
