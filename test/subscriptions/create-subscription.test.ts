import { describe, expect, it } from 'vitest'
import { createSecretBox, createSubscription, getSubscription } from '../../src/subscriptions/index.js'
import { formatSecret, publicKeyOf } from '../../src/webhook/index.js'
import { useDatabase } from '../support/database.js'
import { allowedCidrs, box, refusalOf, useOperations } from './operations.js'

const database = useDatabase()
const { create } = useOperations(database)

async function counts() {
  const { rows } = await database.pool.query(
    `SELECT (SELECT count(*) FROM sagapost.subscriptions)::int AS subscriptions,
            (SELECT count(*) FROM sagapost.subscription_secrets)::int AS secrets`,
  )
  return rows[0]
}

describe('a new subscription', () => {
  it('[U1, U6] is inactive and unverified, as requested, and readable as it was returned', async () => {
    const { subscription } = await create({ maxAttempts: 7, headers: { 'x-team': 'billing' } })
    expect(subscription).toEqual({
      id: expect.stringMatching(/^[1-9]\d*$/),
      eventType: 'order.placed',
      callbackUrl: 'https://receiver.example/hooks',
      active: false,
      verified: false,
      maxAttempts: 7,
      headers: { 'x-team': 'billing' },
      createdAt: expect.any(Date),
      updatedAt: expect.any(Date),
      deletedAt: null,
      deactivationReason: null,
    })
    expect(await getSubscription(database.as('subscription_admin'), subscription.id)).toEqual(subscription)
  })

  it('[S15] has the default limit and no headers by default', async () => {
    expect((await create()).subscription).toMatchObject({ maxAttempts: null, headers: {} })
    expect((await create({ maxAttempts: null })).subscription).toMatchObject({ maxAttempts: null })
    expect((await create({ maxAttempts: 1 })).subscription).toMatchObject({ maxAttempts: 1 })
    expect((await create({ maxAttempts: 100 })).subscription).toMatchObject({ maxAttempts: 100 })
  })

  it('[U2] starts nothing: no event, no delivery, no challenge', async () => {
    await create()
    const { rows } = await database.pool.query(
      `SELECT (SELECT count(*) FROM sagapost.events)::int AS events,
              (SELECT count(*) FROM sagapost.webhook_delivery_sagas)::int AS deliveries,
              (SELECT count(verification_challenge) FROM sagapost.subscriptions)::int AS challenges`,
    )
    expect(rows).toEqual([{ events: 0, deliveries: 0, challenges: 0 }])
  })
})

describe('its secret', () => {
  it.each(['v1', 'v1a'] as const)(
    '[U1] is shown once and kept as a ciphertext that reveals nothing of it: %s',
    async (scheme) => {
      const { subscription, secret } = await create({ scheme })
      const { rows } = await database.pool.query(
        `SELECT secret.scheme, secret.ciphertext, secret.expires_at,
                convert_to(secret::text || subscription::text, 'UTF8') AS bytes
         FROM sagapost.subscription_secrets AS secret
         JOIN sagapost.subscriptions AS subscription ON subscription.id = subscription_id
         WHERE subscription_id = $1`,
        [subscription.id],
      )
      expect(rows).toEqual([expect.objectContaining({ scheme, expires_at: null })])
      const [{ ciphertext, bytes }] = rows
      const key = box.open(ciphertext, { subscriptionId: subscription.id, scheme })
      // Of ed25519 only the public half is shown.
      expect(secret).toBe((scheme === 'v1' ? formatSecret : publicKeyOf)({ scheme, key }))
      for (const piece of piecesOf(key)) {
        expect(ciphertext.includes(piece)).toBe(false)
        for (const encoding of ['hex', 'base64', 'base64url'] as const) {
          expect(bytes.includes(piece.toString(encoding).replace(/=+$/, ''))).toBe(false)
        }
      }
      expect(bytes.includes(secret)).toBe(false)
      expect(JSON.stringify(subscription)).not.toContain(secret)
    },
  )

  it('[U1] is different each time', async () => {
    const made = await Promise.all(Array.from({ length: 10 }, () => create()))
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(10)
  })

  it('[U1] is stored with its subscription or not at all', async () => {
    const before = await counts()
    const broken = {
      ...createSecretBox(Buffer.alloc(32)),
      seal: () => {
        throw new Error('no entropy')
      },
    }
    await expect(create({}, broken)).rejects.toThrow('no entropy')
    const tooLong = { ...broken, seal: () => Buffer.alloc(1025) }
    expect((await refusalOf(create({}, tooLong))).code).toBe('subscription_secret_invalid')
    expect(await counts()).toEqual(before)
  })
})

describe('bad input', () => {
  const lineAbout = {
    eventType: /^An event type is 1 to 100 characters/,
    callbackUrl: /callback URL|not a public address/,
    maxAttempts: /^maxAttempts must be a whole number from 1 to 100, or null/,
    headers: /^headers(\.[\w-]+:)? /,
    scheme: /^scheme must be v1 or v1a$/,
  }
  const valid = { eventType: 'order.placed', callbackUrl: 'https://receiver.example/hooks' }

  it.each<[string, string, Record<string, unknown>]>([
    ['U1', 'event_type_invalid', { eventType: '' }],
    ['U1', 'event_type_invalid', { eventType: undefined }],
    ['U1', 'event_type_invalid', { eventType: 7 }],
    ['U1', 'event_type_invalid', { eventType: 'order placed' }],
    ['U1', 'event_type_invalid', { eventType: 'order\0' }],
    ['U1', 'event_type_invalid', { eventType: 'a'.repeat(101) }],
    ['U3', 'callback_url_not_https', { callbackUrl: 'http://receiver.example/' }],
    ['U3', 'callback_url_not_https', { callbackUrl: 'ftp://receiver.example/' }],
    ['U3', 'callback_url_invalid', { callbackUrl: '' }],
    ['U3', 'callback_url_invalid', { callbackUrl: undefined }],
    ['U3', 'callback_url_invalid', { callbackUrl: null }],
    ['U3', 'callback_url_invalid', { callbackUrl: 'receiver.example' }],
    ['U3', 'callback_url_invalid', { callbackUrl: ' https://receiver.example/' }],
    ['U3', 'callback_url_invalid', { callbackUrl: 'https://receiver.example/\0' }],
    ['U3', 'callback_url_invalid', { callbackUrl: 'https://receiver.example/a b' }],
    ['U3', 'callback_url_blocked', { callbackUrl: 'https://10.0.0.1/' }],
    ['U3', 'callback_url_blocked', { callbackUrl: 'https://169.254.169.254/latest' }],
    ['U1', 'callback_url_invalid', { callbackUrl: `https://receiver.example/${'a'.repeat(476)}` }],
    ['S15', 'subscription_invalid', { maxAttempts: 0 }],
    ['S15', 'subscription_invalid', { maxAttempts: -1 }],
    ['S15', 'subscription_invalid', { maxAttempts: 101 }],
    ['S15', 'subscription_invalid', { maxAttempts: 1.5 }],
    ['S15', 'subscription_invalid', { maxAttempts: Number.NaN }],
    ['S15', 'subscription_invalid', { maxAttempts: '5' }],
    ['U1', 'subscription_invalid', { headers: { 'webhook-id': 'mine' } }],
    ['U1', 'subscription_invalid', { headers: { 'x-team': 'a\r\nhost: b' } }],
    ['U1', 'subscription_invalid', { headers: { 'x-team': 7 } }],
    ['U1', 'subscription_invalid', { headers: ['x-team'] }],
    ['U1', 'subscription_invalid', { headers: null }],
    ['U1', 'subscription_invalid', { headers: 'x-team: a' }],
    ['U1', 'subscription_invalid', { scheme: 'v2' }],
  ])('[%s] ends as %s in one clear line, and nothing is stored: %j', async (_, code, input) => {
    const before = await counts()
    const refusal = await refusalOf(
      createSubscription(database.as('subscription_admin'), { ...valid, ...input } as typeof valid, {
        box,
        allowedCidrs,
      }),
    )
    expect(refusal.code).toBe(code)
    expect(refusal.message).toMatch(/^[^\n]{10,300}$/)
    // By our own check, which says more than the schema behind it could.
    expect(refusal.message).toMatch(lineAbout[Object.keys(input)[0] as keyof typeof lineAbout])
    expect(await counts()).toEqual(before)
  })

  it('[U1] a URL of 500 characters is accepted', async () => {
    const callbackUrl = `https://receiver.example/${'a'.repeat(475)}`
    expect((await create({ callbackUrl })).subscription.callbackUrl).toBe(callbackUrl)
  })
})

/** Every run of 8 bytes: what one would look for in the table. */
function piecesOf(key: Buffer): Buffer[] {
  return Array.from({ length: key.length - 7 }, (_, at) => key.subarray(at, at + 8))
}
