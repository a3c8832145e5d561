import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { FaultSystem } from '../system/fault-system.js'
import type { FaultOutcome } from './apply-fault.js'

const TOO_MANY = '53300'
const AT_ONCE = 10
const AGAIN_MS = 20

/** Takes every connection that PostgreSQL has, also those that the parts had, and holds them. */
export async function exhaustConnections(system: FaultSystem, lengthMs: number): Promise<FaultOutcome> {
  const held: pg.Client[] = []
  let refusals = 0
  const take = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: system.server.url, connectionTimeoutMillis: 5_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      held.push(client)
      return true
    } catch (error) {
      if ((error as { code?: string }).code === TOO_MANY) refusals += 1
      await client.end().catch(() => {})
      return false
    }
  }
  const takeAll = async () => {
    while ((await Promise.all(Array.from({ length: AT_ONCE }, take))).every(Boolean));
  }
  await takeAll()
  for (const link of system.links.values()) link.cut()
  const until = performance.now() + lengthMs
  while (performance.now() < until) {
    await takeAll()
    await sleep(AGAIN_MS)
  }
  await Promise.all(held.map((client) => client.end().catch(() => {})))
  system.accepted.push(Date.now())
  return refusals > 0 ? { ran: true } : { ran: false, why: 'there were always connections left' }
}
