import type pg from 'pg'
import { LEASE_MS } from '../schedule/plan-schedule.js'
import type { FaultSystem } from '../system/fault-system.js'

// A delivery that was claimed after the moment, and when its result was in: lease_until tells when it was claimed, since
// nothing writes it after the claim but the next one. The clock is the database's, on the same machine.
const firstDelivery = `
  SELECT extract(epoch FROM min(finished_at)) * 1000 - $1::float8 AS recovery_ms
  FROM sagapost.webhook_delivery_jobs
  WHERE status = 'Completed' AND finished_at > to_timestamp($1::float8 / 1000)
    AND lease_until - $2::float8 * interval '1 ms' >= to_timestamp($1::float8 / 1000)`

/** From the moment at which PostgreSQL took connections to the first delivery that was claimed and done since. */
export async function measureRecovery(pool: pg.Pool, acceptedAtMs: number): Promise<number | null> {
  const { rows } = await pool.query<{ recovery_ms: number | null }>(firstDelivery, [acceptedAtMs, LEASE_MS])
  const [found] = rows
  return found?.recovery_ms == null ? null : Math.round(Number(found.recovery_ms))
}

// By primary key. What was claimed again once shows when: lease_until is the later claim's.
const lastTakenUp = `
  SELECT max(extract(epoch FROM lease_until) * 1000 - $2::float8) - $1::float8 AS taken_up_ms
  FROM sagapost.webhook_delivery_jobs WHERE id = ANY ($3::bigint[]) AND lease_resets = 1`

/** From the death of the last worker that was killed until all of its jobs were in other hands; null: it had none. */
export async function measureTakeUp(system: FaultSystem): Promise<number | null> {
  const orphans = system.orphans.at(-1)
  if (orphans === undefined || orphans.jobIds.length === 0) return null
  const pool = system.openDirect()
  try {
    const { rows } = await pool.query<{ taken_up_ms: number | null }>(lastTakenUp, [
      orphans.killedAtMs,
      LEASE_MS,
      orphans.jobIds,
    ])
    const [found] = rows
    return found?.taken_up_ms == null ? null : Math.round(Number(found.taken_up_ms))
  } finally {
    await pool.end()
  }
}
