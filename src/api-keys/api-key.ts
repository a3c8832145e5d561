import type { Scope } from './scope.js'

/** A key as it appears in lists: without the key itself and its hash. */
export interface ApiKey {
  id: string
  name: string
  scope: Scope
  createdAt: Date
  /** Rounded to the minute; only for keys stored in the database. */
  lastUsedAt: Date | null
  revokedAt: Date | null
}

export interface ApiKeyRow {
  id: string
  name: string
  scope: Scope
  created_at: Date
  last_used_at: Date | null
  revoked_at: Date | null
}

export function toApiKey(row: ApiKeyRow): ApiKey {
  return {
    id: row.id,
    name: row.name,
    scope: row.scope,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    revokedAt: row.revoked_at,
  }
}
