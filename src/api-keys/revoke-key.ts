import type pg from 'pg'
import { type ApiKey, type ApiKeyRow, toApiKey } from './api-key.js'

const KEY_ID = /^[1-9]\d{0,17}$/

/** By the primary key; the time of the first revocation stays. */
const markRevoked = `
  UPDATE sagapost.api_keys
  SET revoked_at = coalesce(revoked_at, sagapost.now())
  WHERE id = $1
  RETURNING id, name, scope, created_at, last_used_at, revoked_at`

/**
 * Permanent and repeatable. Servers notice within seconds, when their caches expire. Returns null when the key does not
 * exist.
 */
export async function revokeKey(pool: pg.Pool, id: string): Promise<ApiKey | null> {
  if (!KEY_ID.test(id)) return null
  const { rows } = await pool.query<ApiKeyRow>(markRevoked, [id])
  return rows[0] ? toApiKey(rows[0]) : null
}
