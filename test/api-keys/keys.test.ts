import { describe, expect, it } from 'vitest'
import {
  createAuthenticator,
  createKey,
  listKeys,
  revokeKey,
  type Scope,
  scopes,
} from '../../src/api-keys/index.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const pool = () => database.as('api_key_admin')
const make = (scope: Scope = 'read') => createKey(pool(), { name: 'a key', scope })

/** How often the database is asked for a key. */
function counted(): { pool: ReturnType<typeof pool>; asked: () => number } {
  let asked = 0
  const counting = Object.create(pool()) as ReturnType<typeof pool>
  counting.query = ((sql: string, values: unknown[]) => {
    if (sql.includes('key_hash')) asked += 1
    return pool().query(sql, values)
  }) as typeof counting.query
  return { pool: counting, asked: () => asked }
}

describe('keys', () => {
  it('[O2] are shown once and kept as a hash', async () => {
    for (const scope of scopes) {
      const made = await make(scope)
      expect(made).toMatchObject({ name: 'a key', scope, lastUsedAt: null, revokedAt: null })
      expect(made.key).toMatch(/^spk_[\w-]{43}$/)
    }
    const { rows } = await database.pool.query(`SELECT api_keys::text AS whole FROM sagapost.api_keys`)
    expect(rows).toHaveLength(scopes.length)
    const listed = await listKeys(pool())
    expect(listed.map(({ scope }) => scope)).toEqual([...scopes].reverse())
    expect(JSON.stringify([rows, listed])).not.toContain('spk_')
    expect(JSON.stringify(listed)).not.toContain('hash')
  })

  it.each([
    ['no name', { name: ' ', scope: 'read' }],
    ['a long name', { name: 'x'.repeat(101), scope: 'read' }],
    ['two lines', { name: 'a\nb', scope: 'read' }],
    ['an unknown scope', { name: 'a', scope: 'root' }],
  ])('[O2] are not created with %s', async (_what, input) => {
    await expect(createKey(pool(), input as { name: string; scope: Scope })).rejects.toMatchObject({
      code: 'api_key_invalid',
    })
  })

  it('[O2] are revoked for good, and again without harm', async () => {
    const { id } = await make()
    const first = await revokeKey(pool(), id)
    expect(first?.revokedAt).toBeInstanceOf(Date)
    expect(await revokeKey(pool(), id)).toEqual(first)
    for (const missing of ['999999', '0', 'x', '']) expect(await revokeKey(pool(), missing)).toBeNull()
  })
})

describe('the authenticator', () => {
  it('[O2] accepts the key of the environment without a database, and no similar key', async () => {
    const unreachable = { query: () => Promise.reject(new Error('asked')) } as unknown as ReturnType<
      typeof pool
    >
    const { authenticate } = createAuthenticator({ pool: unreachable, apiKey: 'administrator' })
    expect(await authenticate('administrator')).toEqual({ keyId: null, scope: 'admin' })
    for (const other of ['', 'administrato', 'administrator ', 'x'.repeat(10_000)])
      expect(await authenticate(other)).toBeNull()
    const none = createAuthenticator({ pool: unreachable, apiKey: undefined })
    expect(await none.authenticate('undefined')).toBeNull()
  })

  it('[O2] looks a key up once for many requests, and again after three seconds: a revoked key is then refused', async () => {
    const { id, key } = await make('operator')
    const { pool: counting, asked } = counted()
    let now = 1_000_000
    const authenticator = createAuthenticator({ pool: counting, apiKey: undefined, now: () => now })
    const callers = await Promise.all(Array.from({ length: 10 }, () => authenticator.authenticate(key)))
    expect(callers).toEqual(Array(10).fill({ keyId: id, scope: 'operator' }))
    expect(asked()).toBe(1)
    await revokeKey(pool(), id)
    expect(await authenticator.authenticate(key)).not.toBeNull()
    now += 3_000
    expect(await authenticator.authenticate(key)).toBeNull()
    expect(asked()).toBe(2)
    await authenticator.close()
  })

  it('[O2] does not cache a bad key, and forgets a question that failed', async () => {
    const { pool: counting, asked } = counted()
    const authenticator = createAuthenticator({ pool: counting, apiKey: undefined })
    for (const _ of [1, 2]) expect(await authenticator.authenticate('spk_bad')).toBeNull()
    expect(asked()).toBe(2)
  })

  it('[O2] looks up a flood of unknown keys in batches, and finds the valid key among them', async () => {
    const { id, key } = await make('read')
    const { pool: counting, asked } = counted()
    const authenticator = createAuthenticator({ pool: counting, apiKey: undefined })
    const first = authenticator.authenticate('spk_first')
    const flood = Array.from({ length: 400 }, (_, index) => authenticator.authenticate(`spk_bad-${index}`))
    const good = authenticator.authenticate(key)
    expect(await first).toBeNull()
    expect(await Promise.all(flood)).toEqual(Array(400).fill(null))
    expect(await good).toEqual({ keyId: id, scope: 'read' })
    expect(asked()).toBe(2)
    await authenticator.close()
  })

  it('[O2] a flood of unknown keys does not evict a valid key', async () => {
    const { key } = await make('read')
    const authenticator = createAuthenticator({ pool: pool(), apiKey: undefined })
    await authenticator.authenticate(key)
    const flood = Array.from({ length: 10_001 }, (_, index) =>
      authenticator.authenticate(`spk_flood-${index}`),
    )
    expect(authenticator.authenticate(key)).not.toBeInstanceOf(Promise)
    await Promise.all(flood)
    await authenticator.close()
  })

  it('[O2] stores the time of the last use, at most once a minute', async () => {
    const { id, key } = await make()
    let now = 1_000_000
    const authenticator = createAuthenticator({ pool: pool(), apiKey: undefined, now: () => now })
    const lastUse = async () => (await listKeys(pool())).find((each) => each.id === id)?.lastUsedAt ?? null
    await authenticator.authenticate(key)
    await authenticator.close()
    const first = await lastUse()
    expect(first).toBeInstanceOf(Date)
    now += 120_000 // our clock alone does not make another write: the row is younger than a minute
    await authenticator.authenticate(key)
    await authenticator.close()
    expect(await lastUse()).toEqual(first)
    await database.pool.query(
      `UPDATE sagapost.api_keys SET last_used_at = last_used_at - interval '2 minutes'`,
    )
    await authenticator.authenticate(key)
    await authenticator.close()
    expect((await lastUse())?.getTime()).toBeLessThan(first?.getTime() ?? 0)
    now += 60_000
    await authenticator.authenticate(key)
    await authenticator.close()
    expect((await lastUse())?.getTime()).toBeGreaterThanOrEqual(first?.getTime() ?? 0)
  })
})
