import type pg from 'pg'
import { type ApiKey, type ApiKeyRow, toApiKey } from './api-key.js'

/** The whole table, by its primary key: an operator makes keys by hand, so there are few. */
const selectKeys = `
  SELECT id, name, scope, created_at, last_used_at, revoked_at
  FROM sagapost.api_keys
  ORDER BY id DESC`

/** Every key, including revoked ones, newest first. Under api_key_admin or saga_readonly_role. */
export async function listKeys(pool: pg.Pool): Promise<ApiKey[]> {
  const { rows } = await pool.query<ApiKeyRow>(selectKeys)
  return rows.map(toApiKey)
}
