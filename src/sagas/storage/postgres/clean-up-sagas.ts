import type pg from 'pg'
import { createPostgresStorage } from './create-postgres-storage.js'

/** Reports progress after this many. */
const SLICE = 1_000

/** So long ago by the database's clock. */
const selectMoment = `SELECT sagapost.now() - $1::bigint * interval '1 ms' AS moment`

export interface CleanUpRequest {
  /** Sagas that were last changed longer ago than this. */
  readonly ageMs: number
  /** Stops after this many; absent: when there are no more. */
  readonly limit?: number | undefined
  readonly onProgress?: (removed: number) => void
}

/**
 * [G8] Removes ended sagas of an age, with their steps and events, under the role saga_app_role, in short transactions.
 * Sagas that wait for an operator are kept.
 */
export async function cleanUpSagas(
  pool: pg.Pool,
  { ageMs, limit = Number.POSITIVE_INFINITY, onProgress }: CleanUpRequest,
): Promise<number> {
  const { rows } = await pool.query<{ moment: Date }>(selectMoment, [ageMs])
  const moment = rows[0]?.moment
  if (moment === undefined) throw new Error('the database did not tell the time')
  const storage = createPostgresStorage({ pool })
  let removed = 0
  while (removed < limit) {
    const slice = Math.min(SLICE, limit - removed)
    const now = await storage.cleanUpExpired(moment, { limit: slice })
    removed += now
    onProgress?.(removed)
    if (now < slice) break
  }
  return removed
}
