import { beforeAll, describe, expect, it } from 'vitest'
import { deleteSubscription, getSubscription, listSubscriptions } from '../../src/subscriptions/index.js'
import { selectSubscriptions } from '../../src/subscriptions/list-subscriptions.js'
import { selectSigningSecrets } from '../../src/subscriptions/read-signing-secrets.js'
import { useDatabase } from '../support/database.js'
import { countRowsRead, explain } from '../support/explain.js'
import { refusalOf, useOperations } from './operations.js'

const database = useDatabase()
const { create, confirm } = useOperations(database)
const list = (filter = {}) => listSubscriptions(database.as('subscription_admin'), filter)

describe('one subscription', () => {
  it.each(['0', '99999999', '-1', '1.0', 'abc', '', '9223372036854775808', '1'.repeat(40), '01', ' 1', '１'])(
    '[U1] that does not exist is null: %j',
    async (id) => {
      await create()
      expect(await getSubscription(database.as('subscription_admin'), id)).toBeNull()
    },
  )
})

describe('a list', () => {
  const ids: string[] = []

  beforeAll(async () => {
    await database.pool.query('TRUNCATE sagapost.subscriptions CASCADE')
    for (let index = 0; index < 12; index++) {
      const { subscription } = await create({ eventType: index % 3 === 0 ? 'order.paid' : 'order.placed' })
      ids.unshift(subscription.id)
      if (index % 2 === 0) await confirm(subscription.id)
    }
    await deleteSubscription(database.as('subscription_admin'), ids[0] as string)
  })

  it('[U1] is newest first, whole objects, deleted ones among them', async () => {
    const { data, nextCursor } = await list()
    expect(data.map(({ id }) => id)).toEqual(ids)
    expect(nextCursor).toBeNull()
    expect(data[0]?.deletedAt).toBeInstanceOf(Date)
    expect(data[1]).toEqual(await getSubscription(database.as('subscription_admin'), ids[1] as string))
  })

  it.each([1, 4, 5, 6, 11, 12, 200])('[U1] comes whole in pages of %i', async (limit) => {
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const page = await list({ limit, cursor })
      expect(page.data.length).toBeGreaterThan(0)
      expect(page.data.length).toBeLessThanOrEqual(limit)
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    expect(seen).toEqual(ids)
  })

  it('[U1] neither repeats nor skips when one is added between two pages', async () => {
    const first = await list({ limit: 6 })
    const { subscription } = await create()
    const second = await list({ limit: 6, cursor: first.nextCursor ?? undefined })
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids)
    ids.unshift(subscription.id)
  })

  it('[U1] can be asked for by type and by state, together and with a cursor', async () => {
    const all = (await list()).data
    const filters = [
      { eventType: 'order.paid' },
      { active: true },
      { active: false },
      { deleted: true },
      { deleted: false },
      { eventType: 'order.placed', active: true },
      { eventType: 'order.placed', active: false, deleted: false, after: ids[3] },
      { eventType: 'order.never' },
    ]
    for (const { after, ...filter } of filters) {
      const cursor = after === undefined ? undefined : Buffer.from(after).toString('base64url')
      const expected = all.filter(
        (one) =>
          (filter.eventType === undefined || one.eventType === filter.eventType) &&
          (filter.active === undefined || one.active === filter.active) &&
          (filter.deleted === undefined || (one.deletedAt !== null) === filter.deleted) &&
          (after === undefined || BigInt(one.id) < BigInt(after)),
      )
      expect((await list({ ...filter, cursor })).data, JSON.stringify(filter)).toEqual(expected)
    }
  })

  it.each([
    { limit: 0 },
    { limit: 201 },
    { limit: 1.5 },
    { limit: -1 },
    { cursor: 'abc' },
    { cursor: '' },
    { cursor: '1; DROP' },
    { eventType: 'order\0placed' },
  ])('[U1] is refused in one clear line: %j', async (filter) => {
    const { code, message } = await refusalOf(list(filter))
    expect(['query_invalid', 'event_type_invalid']).toContain(code)
    expect(message).toMatch(/^(limit|cursor|An event type) /)
  })
})

describe('on 20,000 subscriptions of 500 types, one in a thousand active', () => {
  beforeAll(async () => {
    await database.pool.query(
      `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified)
       SELECT 'type.' || n % 500, 'https://receiver.example/' || n, n % 1000 = 0, true
       FROM generate_series(1, 20000) AS n`,
    )
    await database.pool.query(
      `INSERT INTO sagapost.subscription_secrets (subscription_id, scheme, ciphertext)
       SELECT id, 'v1', decode(repeat('00', 57), 'hex') FROM sagapost.subscriptions
       ON CONFLICT DO NOTHING`,
    )
    await database.pool.query('ANALYZE sagapost.subscriptions, sagapost.subscription_secrets')
  })

  it.each<[string, unknown[], string]>([
    ['everything', [null, null, null, null, null, 51], 'subscriptions_pkey'],
    ['a later page', [10_000, null, null, null, null, 51], 'subscriptions_pkey'],
    ['one type', [null, 'type.7', null, null, null, 51], 'idx_sub_event_type'],
    ['the few active ones', [null, null, true, null, null, 51], 'idx_sub_active'],
    ['the many inactive ones', [null, null, false, null, null, 51], 'subscriptions_pkey'],
  ])('[S21] the list of %s scans no table', async (_, values, index) => {
    const plan = await explain(database.as('subscription_admin'), selectSubscriptions, values)
    expect(plan).toMatchObject({ scanned: [], indexes: [index] })
  })

  it('[S21] the few whose endpoint fails are found by their keys', async () => {
    await database.pool.query(
      'INSERT INTO sagapost.subscription_breakers (subscription_id, failures) VALUES (77, 3), (78, 3)',
    )
    await database.pool.query('ANALYZE sagapost.subscription_breakers')
    const values = [null, null, null, null, true, 51]
    const plan = await explain(database.as('subscription_admin'), selectSubscriptions, values, /breakers/)
    expect(plan).toMatchObject({ scanned: [], indexes: ['subscriptions_pkey'] })
    expect(await countRowsRead(database.as('subscription_admin'), selectSubscriptions, values)).toBeLessThan(
      10,
    )
  })

  it('[S21] a batch of signing secrets is found by idx_secret_subscription', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => index * 50)
    const plan = await explain(database.as('job_worker'), selectSigningSecrets, [ids])
    expect(plan).toMatchObject({ scanned: [], indexes: ['idx_secret_subscription'] })
  })
})
