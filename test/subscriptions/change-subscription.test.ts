import { describe, expect, it } from 'vitest'
import { deactivateSubscription } from '../../src/subscriptions/deactivate-subscription.js'
import { deleteSubscription, getSubscription } from '../../src/subscriptions/index.js'
import { useDatabase } from '../support/database.js'
import { refusalOf, useOperations } from './operations.js'

const database = useDatabase()
const { create, change, confirm } = useOperations(database)
const pool = () => database.as('subscription_admin')
const read = async (id: string) => (await getSubscription(pool(), id)) ?? expect.fail('it is gone')

async function created({ verified = false, ...input }: { verified?: boolean; maxAttempts?: number } = {}) {
  const { subscription } = await create({ headers: { 'x-team': 'billing' }, ...input })
  if (verified) await confirm(subscription.id)
  return read(subscription.id)
}

const version = async () => {
  const { rows } = await database.pool.query('SELECT version FROM sagapost.subscription_version')
  return Number(rows[0].version)
}

describe('a change', () => {
  it('[U1] changes what is given and leaves the rest', async () => {
    const before = await created({ verified: true, maxAttempts: 3 })
    const changes = [
      { eventType: 'order.paid' },
      { maxAttempts: 9 },
      { maxAttempts: null },
      { headers: { 'x-other': 'b' } },
      { headers: {} },
      { active: false },
      { active: true },
      { eventType: 'order.shipped', maxAttempts: 100, active: false, headers: { 'x-last': 'c' } },
    ]
    let expected = before
    for (const one of changes) {
      expected = { ...expected, ...one, updatedAt: expect.any(Date) }
      const changed = await change(before.id, one)
      expect(changed).toEqual(expected)
      expect(await read(before.id)).toEqual(changed)
    }
  })

  it('[U4, U6] of the URL revokes verified and active', async () => {
    const { id } = await created({ verified: true })
    expect(await change(id, { callbackUrl: 'https://other.example/' })).toMatchObject({
      callbackUrl: 'https://other.example/',
      verified: false,
      active: false,
    })
  })

  it.each([
    'https://receiver.example/hooks/',
    'https://receiver.example/hooks?a',
    'https://RECEIVER.example/hooks',
  ])('[U4, U6] of any character of the URL revokes them: %s', async (callbackUrl) => {
    const { id } = await created({ verified: true })
    expect(await change(id, { callbackUrl })).toMatchObject({ callbackUrl, verified: false, active: false })
  })

  it('[U4] to the same URL keeps both', async () => {
    const { id, callbackUrl } = await created({ verified: true })
    expect(await change(id, { callbackUrl, active: true })).toMatchObject({ verified: true, active: true })
  })

  it('[R5] is counted once, and one without content not at all', async () => {
    const before = await created()
    const start = await version()
    expect(await change(before.id, {})).toEqual(before)
    expect(await change(before.id, { eventType: undefined, active: undefined })).toEqual(before)
    expect(await version()).toBe(start)
    await change(before.id, { eventType: 'order.paid', active: false })
    expect(await version()).toBe(start + 1)
  })

  it.each(['999999999', 'abc', '9223372036854775808'])(
    '[U1] of an unknown subscription is null: %s',
    async (id) => {
      expect(await change(id, { active: false })).toBeNull()
    },
  )
})

describe('activation', () => {
  it('[U6] is refused before the verification, together with all other changes', async () => {
    const before = await created()
    const refusal = await refusalOf(change(before.id, { active: true, eventType: 'order.paid' }))
    expect(refusal.code).toBe('subscription_not_verified')
    expect(refusal.message).toContain(`Subscription ${before.id} `)
    expect(await read(before.id)).toEqual(before)
  })

  it('[U6] is refused together with another URL, instead of being dropped silently', async () => {
    const before = await created({ verified: true })
    const refusal = await refusalOf(
      change(before.id, { active: true, callbackUrl: 'https://other.example/' }),
    )
    expect(refusal.code).toBe('subscription_not_verified')
    expect(refusal.message).toContain('along with a new callbackUrl')
    expect(await read(before.id)).toEqual(before)
  })

  it('[U6] that races a change of URL never leaves an unverified one active', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await created({ verified: true })
      await change(id, { active: false })
      const [activated, moved] = await Promise.allSettled([
        change(id, { active: true }),
        change(id, { callbackUrl: 'https://other.example/' }),
      ])
      expect(moved.status).toBe('fulfilled')
      if (activated.status === 'rejected') expect(activated.reason.code).toBe('subscription_not_verified')
      expect(await read(id)).toMatchObject({ verified: false, active: false })
    }
  })
})

describe('bad input', () => {
  it.each<[string, string, Record<string, unknown>]>([
    ['U1', 'event_type_invalid', { eventType: 'order placed' }],
    ['U1', 'event_type_invalid', { eventType: null }],
    ['U3', 'callback_url_not_https', { callbackUrl: 'http://receiver.example/' }],
    ['U3', 'callback_url_invalid', { callbackUrl: null }],
    ['S15', 'subscription_invalid', { maxAttempts: 0 }],
    ['S15', 'subscription_invalid', { maxAttempts: 101 }],
    ['U1', 'subscription_invalid', { headers: { host: 'other.example' } }],
    ['U1', 'subscription_invalid', { headers: null }],
    ['U6', 'subscription_invalid', { active: 'yes' }],
    ['U6', 'subscription_invalid', { active: null }],
  ])('[%s] ends as %s in one clear line and changes nothing: %j', async (_, code, input) => {
    const before = await created({ verified: true })
    const refusal = await refusalOf(change(before.id, { eventType: 'order.paid', ...input }))
    expect(refusal.code).toBe(code)
    expect(refusal.message).toMatch(/^[^\n]{10,300}$/)
    expect(await read(before.id)).toEqual(before)
  })
})

describe('a deleted subscription', () => {
  it('[U1] is inactive, final, and stays readable as it was', async () => {
    const before = await created({ verified: true })
    const deleted = await deleteSubscription(pool(), before.id)
    expect(deleted).toEqual({
      ...before,
      active: false,
      deletedAt: expect.any(Date),
      updatedAt: expect.any(Date),
    })
    expect(await read(before.id)).toEqual(deleted)
    for (const one of [{ active: true }, { active: false }, { eventType: 'order.paid' }, {}]) {
      expect((await refusalOf(change(before.id, one))).code).toBe('subscription_deleted')
    }
    expect(await read(before.id)).toEqual(deleted)
  })

  it('[U1, O8] is deleted once, however often and by however many callers', async () => {
    const { id } = await created()
    const results = await Promise.all(Array.from({ length: 5 }, () => deleteSubscription(pool(), id)))
    expect(results.every((one) => one?.deletedAt?.getTime() === results[0]?.deletedAt?.getTime())).toBe(true)
    expect(await deleteSubscription(pool(), id)).toEqual(results[0])
  })

  it.each(['999999999', 'abc', '9223372036854775808'])(
    '[U1] of an unknown subscription is null: %s',
    async (id) => {
      expect(await deleteSubscription(pool(), id)).toBeNull()
    },
  )

  it('[U1] keeps its secrets: deliveries under way are signed with them', async () => {
    const { id } = await created()
    await deleteSubscription(pool(), id)
    const { rows } = await database.pool.query(
      'SELECT expires_at FROM sagapost.subscription_secrets WHERE subscription_id = $1',
      [id],
    )
    expect(rows).toEqual([{ expires_at: null }])
  })
})

describe('deactivation by Sagapost', () => {
  it('[U5] deactivates an active one with its reason, once', async () => {
    const { id } = await created({ verified: true })
    expect(await deactivateSubscription(pool(), id, 'http_410')).toBe(true)
    expect(await read(id)).toMatchObject({ active: false, verified: true, deactivationReason: 'http_410' })
    expect(await deactivateSubscription(pool(), id, 'http_410')).toBe(false)
  })

  it('[U6] is reverted by activation, verification or another URL, and kept by anything else', async () => {
    const { id } = await created({ verified: true })
    const gone = () => deactivateSubscription(pool(), id, 'http_410')
    await gone()
    expect(await change(id, { maxAttempts: 4, active: false })).toMatchObject({
      deactivationReason: 'http_410',
    })
    expect(await change(id, { active: true })).toMatchObject({ active: true, deactivationReason: null })
    await gone()
    await confirm(id)
    expect(await read(id)).toMatchObject({ active: true, deactivationReason: null })
    await gone()
    expect(await change(id, { callbackUrl: 'https://other.example/' })).toMatchObject({
      active: false,
      deactivationReason: null,
    })
  })

  it('[U5] leaves an inactive, deleted or unknown one unchanged', async () => {
    const inactive = await created()
    expect(await deactivateSubscription(pool(), inactive.id, 'http_410')).toBe(false)
    expect(await read(inactive.id)).toEqual(inactive)
    await deleteSubscription(pool(), inactive.id)
    expect(await deactivateSubscription(pool(), inactive.id, 'http_410')).toBe(false)
    expect(await deactivateSubscription(pool(), '999999999', 'http_410')).toBe(false)
    expect(await deactivateSubscription(pool(), 'abc', 'http_410')).toBe(false)
  })

  it('[U5] leaves a subscription alone that was changed after the observation', async () => {
    const { id } = await created({ verified: true })
    // It is an old one: what counts is its last change, not its beginning.
    await database.pool.query(
      `UPDATE sagapost.subscriptions SET created_at = created_at - interval '1 day' WHERE id = $1`,
      [id],
    )
    const { updatedAt } = await read(id)
    const before = new Date(updatedAt.getTime() - 1000)
    const after = new Date(updatedAt.getTime() + 1000)
    expect(await deactivateSubscription(pool(), id, 'http_410', { observedAt: before })).toBe(false)
    expect(await read(id)).toMatchObject({ active: true })
    expect(await deactivateSubscription(pool(), id, 'http_410', { observedAt: after })).toBe(true)
  })
})
