import { describe, expect, it } from 'vitest'
import { createKey, revokeKey } from '../../src/api-keys/index.js'
import { useDatabase } from '../support/database.js'
import { codeOf } from '../support/refusal.js'

const database = useDatabase()
const keyAdmin = () => database.as('api_key_admin')

async function makeRevoked(): Promise<string> {
  const { id } = await createKey(keyAdmin(), { name: 'a key', scope: 'admin' })
  await revokeKey(keyAdmin(), id)
  return id
}

const set = (change: string) => `UPDATE sagapost.api_keys SET ${change} WHERE id = $1`

describe('a revoked API key', () => {
  it.each([
    ['its own role', set('revoked_at = NULL')],
    ['its own role', set(`revoked_at = revoked_at + interval '1 day'`)],
    ['its own role', set(`name = 'another', revoked_at = NULL`)],
    ['the owner', set('revoked_at = NULL')],
    ['the owner', set(`scope = 'read'`)],
    ['the owner', set('key_hash = sha256(key_hash)')],
    ['the owner', set('id = DEFAULT')],
    ['the owner', 'DELETE FROM sagapost.api_keys WHERE id = $1'],
    ['the owner', 'TRUNCATE sagapost.api_keys'],
    ['a replica', set('revoked_at = NULL')],
    ['a replica', 'DELETE FROM sagapost.api_keys WHERE id = $1'],
  ])('[O2] stays revoked for %s: %s is refused', async (by, statement) => {
    const id = await makeRevoked()
    const client = await (by === 'its own role' ? keyAdmin() : database.pool).connect()
    try {
      if (by === 'a replica') await client.query('SET session_replication_role = replica')
      expect(await codeOf(client.query(statement, statement.includes('$1') ? [id] : []))).toBe(
        'api_key_revoked',
      )
    } finally {
      client.release(true)
    }
  })

  it('[O2] can be renamed, its last use noted, and be revoked again', async () => {
    const id = await makeRevoked()
    for (const change of [`name = 'old'`, 'last_used_at = sagapost.now()', 'revoked_at = revoked_at']) {
      expect(await codeOf(keyAdmin().query(set(change), [id]))).toBe('accepted')
    }
  })

  it('[O2] can only result from revoking an open key, which its owner may also delete', async () => {
    const { id } = await createKey(keyAdmin(), { name: 'a key', scope: 'read' })
    expect(await codeOf(keyAdmin().query(set(`revoked_at = '2020-01-01'`), [id]))).toBe('accepted')
    const open = await createKey(keyAdmin(), { name: 'a key', scope: 'read' })
    const remove = database.pool.query('DELETE FROM sagapost.api_keys WHERE id = $1', [open.id])
    expect(await codeOf(remove)).toBe('accepted')
  })
})
