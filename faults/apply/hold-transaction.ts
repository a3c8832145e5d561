import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { sha256 } from '../../test/support/receiver-log.js'
import type { FaultSystem } from '../system/fault-system.js'
import type { FaultOutcome } from './apply-fault.js'

const publish = 'SELECT sagapost.publish($1, $2::json) AS id'

/**
 * A transaction that has published long before it commits: its event's id is small when it comes, and its snapshot keeps
 * vacuum away. When its connection breaks nothing was acknowledged.
 */
export async function holdTransaction(
  system: FaultSystem,
  { lengthMs, commits }: { lengthMs: number; commits: boolean },
): Promise<FaultOutcome> {
  const client = new pg.Client({ connectionString: system.server.url, connectionTimeoutMillis: 5_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    const payload = JSON.stringify({ late: Math.random(), commits })
    const { rows } = await client.query<{ id: string }>(publish, ['fault.a', payload])
    await sleep(lengthMs)
    await client.query(commits ? 'COMMIT' : 'ROLLBACK')
    if (commits && rows[0]) system.published.set(rows[0].id, sha256(payload))
    return { ran: true }
  } catch (error) {
    return { ran: false, why: `its connection broke: ${(error as Error).message}` }
  } finally {
    await client.end().catch(() => {})
  }
}
