import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { sha256 } from '../../test/support/receiver-log.js'
import type { FaultSystem } from '../system/fault-system.js'
import { type LoadTally, noteAnswer } from './load-tally.js'
import type { LoadEvent } from './make-event.js'

const AGAIN_MS = 100
const QUERY_MS_MAX = 5_000
const CONNECTIONS_MAX = 3

const publish = 'SELECT sagapost.publish($1, $2::json, $3) AS id'

/** Keys of events whose transaction was rolled back begin so: none of them may ever be found. */
export const ROLLED_BACK = 'rolled-back-'

export function openPublisherPool(system: FaultSystem): pg.Pool {
  const pool = new pg.Pool({
    connectionString: system.publisherUrl,
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: QUERY_MS_MAX,
    query_timeout: QUERY_MS_MAX,
  })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

export interface SqlPublisher {
  system: FaultSystem
  pool: pg.Pool
  tally: LoadTally
  signal: AbortSignal
}

/** As an application does it, in a transaction of its own; again with the same keys until it knows that it committed. */
export async function publishBySql(
  { system, pool, tally, signal }: SqlPublisher,
  events: readonly LoadEvent[],
  ending: 'COMMIT' | 'ROLLBACK',
): Promise<void> {
  const prefix = ending === 'ROLLBACK' ? ROLLED_BACK : ''
  while (!signal.aborted) {
    let client: pg.PoolClient | undefined
    try {
      client = await pool.connect()
      await client.query('BEGIN')
      const ids: string[] = []
      for (const { type, payload, key } of events) {
        const { rows } = await client.query<{ id: string }>(publish, [type, payload, prefix + key])
        ids.push((rows[0] as { id: string }).id)
      }
      await client.query(ending)
      client.release()
      if (ending === 'COMMIT') {
        for (const [index, id] of ids.entries())
          system.published.set(id, sha256((events[index] as LoadEvent).payload))
      }
      return
    } catch {
      noteAnswer(tally, 'no answer')
      // In any state: the connection is not used again.
      client?.release(true)
      await sleep(AGAIN_MS)
    }
  }
}
