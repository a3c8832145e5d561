import type pg from 'pg'
import { createPostgresStorage } from './create-postgres-storage.js'

const BATCH = 1_000

/** So long ago by the database's clock. */
const selectMoment = `SELECT sagapost.now() - $1::bigint * interval '1 ms' AS moment`

export interface CleanUpOptions {
  /** Those that were last changed longer ago than this. */
  readonly ageMs: number
  /** Stops after so many; absent: when there are no more. */
  readonly limit?: number | undefined
  readonly onProgress?: (removed: number) => void
}

/**
 * [G8] Removes ended sagas of an age, with their steps and events, under the role saga_app_role: a transaction for each
 * thousand, so that nobody waits for long. Those that wait for an operator stay.
 */
export async function cleanUpSagas(
  pool: pg.Pool,
  { ageMs, limit = Number.POSITIVE_INFINITY, onProgress }: CleanUpOptions,
): Promise<number> {
  const { rows } = await pool.query<{ moment: Date }>(selectMoment, [ageMs])
  const moment = rows[0]?.moment
  if (moment === undefined) throw new Error('the database did not tell the time')
  const storage = createPostgresStorage({ pool })
  let removed = 0
  while (removed < limit) {
    const before = removed
    const batch = Math.min(BATCH, limit - removed)
    removed += await storage.cleanUpExpired(moment, batch, (now) => {
      onProgress?.(before + now)
      // The last batch before the limit is a smaller one.
      return limit - before - now >= batch
    })
    if (removed - before < batch) break
  }
  return removed
}
