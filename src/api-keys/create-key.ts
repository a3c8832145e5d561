import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { SagapostError } from '../errors/index.js'
import { type ApiKey, type ApiKeyRow, toApiKey } from './api-key.js'
import { hashKey } from './hash-key.js'
import { type Scope, scopes } from './scope.js'

export const KEY_PREFIX = 'spk_'
const KEY_BYTES = 32
const NAME_CHARACTERS_MAX = 100

const insertKey = `
  INSERT INTO sagapost.api_keys (name, scope, key_hash)
  VALUES ($1, $2, $3)
  RETURNING id, name, scope, created_at, last_used_at, revoked_at`

export interface CreatedKey extends ApiKey {
  /** Shown only once; the database keeps its hash. */
  key: string
}

/** Random, with a prefix that scanners for leaked secrets recognise. */
export function generateKey(): string {
  return KEY_PREFIX + randomBytes(KEY_BYTES).toString('base64url')
}

/** Creates a key, under the role api_key_admin. Throws `api_key_invalid` for an invalid name or scope. */
export async function createKey(
  pool: pg.Pool,
  { name, scope }: { name: string; scope: Scope },
): Promise<CreatedKey> {
  if (!scopes.includes(scope)) {
    throw new SagapostError('api_key_invalid', `The scope of a key is one of ${scopes.join(', ')}`)
  }
  if (name.trim() === '' || [...name].length > NAME_CHARACTERS_MAX || /\p{Cc}/u.test(name)) {
    throw new SagapostError(
      'api_key_invalid',
      `The name of a key is 1 to ${NAME_CHARACTERS_MAX} characters on one line`,
    )
  }
  const key = generateKey()
  const { rows } = await pool.query<ApiKeyRow>(insertKey, [name, scope, hashKey(key)])
  return { ...toApiKey(rows[0] as ApiKeyRow), key }
}
