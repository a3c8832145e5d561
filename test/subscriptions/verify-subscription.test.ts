import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createSecretBox,
  deleteSubscription,
  getSubscription,
  rotateSecret,
} from '../../src/subscriptions/index.js'
import { useDatabase } from '../support/database.js'
import {
  type ReceivedRequest,
  type Receiver,
  type ReceiverResponse,
  startReceiver,
} from '../support/https-receiver.js'
import { box, refusalOf, useOperations } from './operations.js'

const database = useDatabase()
let receiver: Receiver
let respond: (request: ReceivedRequest) => ReceiverResponse | Promise<ReceiverResponse>

beforeAll(async () => {
  receiver = await startReceiver({ respond: (request) => respond(request) })
})
afterAll(() => receiver.stop())
beforeEach(() => {
  respond = answerAsJson
  receiver.requests.length = 0
})

const { create, change, confirm, verify, test } = useOperations(database, () => receiver.certificateAuthority)
const pool = () => database.as('subscription_admin')
const read = (id: string) => getSubscription(pool(), id)

async function openChallenge(id: string): Promise<string | null> {
  const { rows } = await database.pool.query(
    'SELECT verification_challenge AS challenge FROM sagapost.subscriptions WHERE id = $1',
    [id],
  )
  return rows[0].challenge
}

async function created(path = 'hooks', headers = {}) {
  const { subscription, secret } = await create({ callbackUrl: receiver.url + path, headers })
  return { id: subscription.id, secret, url: subscription.callbackUrl }
}

const challengeOf = ({ body }: ReceivedRequest): string => JSON.parse(body.toString()).challenge
const answerAsJson = (request: ReceivedRequest) => ({
  body: JSON.stringify({ challenge: challengeOf(request) }),
})

/** A receiver that answers on request: `arrived` resolves with each request in turn. */
function heldReceiver() {
  const waiting: (() => void)[] = []
  const arrivals: ((request: ReceivedRequest) => void)[] = []
  const early: ReceivedRequest[] = []
  respond = async (request) => {
    const answered = new Promise<void>((resolve) => waiting.push(resolve))
    const awaited = arrivals.shift()
    if (awaited) awaited(request)
    else early.push(request)
    await answered
    return answerAsJson(request)
  }
  return {
    arrived: () =>
      new Promise<ReceivedRequest>((resolve) => {
        const request = early.shift()
        if (request) resolve(request)
        else arrivals.push(resolve)
      }),
    /** In the order of arrival. */
    answer: () => waiting.shift()?.(),
  }
}

/** By an independent implementation; throws when the signature is not the secret's. */
const checkSignature = ({ headers, body }: ReceivedRequest, secret: string) =>
  new Webhook(secret).verify(body.toString(), headers as Record<string, string>)

describe('a verification', () => {
  it.each<[string, (challenge: string) => string]>([
    ['as JSON', (challenge) => JSON.stringify({ challenge })],
    ['as JSON with more around it', (challenge) => `\n{ "ok": true, "challenge": "${challenge}" }\n`],
    ['as plain text', (challenge) => challenge],
    ['as plain text with a line end', (challenge) => ` ${challenge}\r\n`],
  ])('[U4] verifies and activates when the challenge comes back %s', async (_, answer) => {
    respond = (request) => ({ status: 202, body: answer(challengeOf(request)) })
    const { id } = await created()
    const outcome = await verify(id)
    expect(outcome).toMatchObject({ verified: true, subscription: { id, verified: true, active: true } })
    expect(await read(id)).toMatchObject({ verified: true, active: true, deactivationReason: null })
    expect(receiver.requests).toHaveLength(1)
  })

  it('[U4] is one signed POST with a fresh random challenge and the headers of the subscription', async () => {
    const { id, secret } = await created('path?query=1', { 'x-team': 'billing' })
    await verify(id)
    await verify(id)
    const [first, second] = receiver.requests as [ReceivedRequest, ReceivedRequest]
    expect(first).toMatchObject({
      method: 'POST',
      path: '/path?query=1',
      headers: { 'x-team': 'billing', 'webhook-id': expect.stringMatching(/^ver_[0-9a-f]{32}$/) },
    })
    const challenge = challengeOf(first)
    expect(challenge).toMatch(/^[\w-]{43}$/)
    expect(first.body.toString()).toBe(
      `{"type":"sagapost.subscription.verification","challenge":"${challenge}"}`,
    )
    checkSignature(first, secret)
    expect(challengeOf(second)).not.toBe(challenge)
    expect(second.headers['webhook-id']).not.toBe(first.headers['webhook-id'])
  })

  it('[U4] is signed with both secrets during a rotation', async () => {
    const { id, secret } = await created()
    const rotated = await rotateSecret(pool(), id, { box })
    await verify(id)
    const [request] = receiver.requests as [ReceivedRequest]
    checkSignature(request, secret)
    checkSignature(request, rotated?.secret as string)
    expect(() => checkSignature(request, `whsec_${randomBytes(32).toString('base64')}`)).toThrow()
  })

  it.each<[string, (challenge: string) => ReceiverResponse, string, RegExp]>([
    ['nothing', () => ({}), 'challenge_missing', /does not contain the challenge/],
    ['another challenge', () => ({ body: '{"challenge":"other"}' }), 'challenge_missing', /does not contain/],
    [
      'the challenge in another field',
      (challenge) => ({ body: JSON.stringify({ answer: challenge }) }),
      'challenge_missing',
      /does not contain/,
    ],
    [
      'the challenge among other text',
      (challenge) => ({ body: `you sent ${challenge}` }),
      'challenge_missing',
      /does not contain/,
    ],
    ['JSON null', () => ({ body: 'null' }), 'challenge_missing', /does not contain/],
    [
      'the challenge with 500',
      (challenge) => ({ status: 500, body: challenge }),
      'request_failed',
      /: http_500$/,
    ],
    [
      'the challenge with a redirect',
      (challenge) => ({ status: 302, headers: { location: receiver.url }, body: challenge }),
      'request_failed',
      /: http_302$/,
    ],
    [
      'the challenge with 410',
      (challenge) => ({ status: 410, body: challenge }),
      'request_failed',
      /: http_410$/,
    ],
  ])('[U4] fails with its reason when the answer is %s', async (_, answer, reason, detail) => {
    respond = (request) => answer(challengeOf(request))
    const { id } = await created()
    expect(await verify(id)).toMatchObject({ verified: false, reason, detail: expect.stringMatching(detail) })
    expect(await read(id)).toMatchObject({ verified: false, active: false })
    respond = answerAsJson
    expect(await verify(id)).toMatchObject({ verified: true })
  })

  it('[U4] fails with its reason when nothing listens', async () => {
    const { subscription } = await create({ callbackUrl: 'https://127.0.0.1:1/' })
    expect(await verify(subscription.id)).toMatchObject({
      verified: false,
      reason: 'request_failed',
      detail: expect.stringMatching(/connection_refused$/),
    })
  })

  it('[U4] that fails does not revoke an earlier verification', async () => {
    const { id } = await created()
    await verify(id)
    const before = await read(id)
    respond = () => ({ status: 500 })
    expect(await verify(id)).toMatchObject({ verified: false })
    expect(await read(id)).toMatchObject({ verified: true, active: true, callbackUrl: before?.callbackUrl })
  })

  it('[U6] reactivates a deactivated subscription', async () => {
    const { id } = await created()
    await confirm(id)
    await change(id, { active: false })
    expect(await verify(id)).toMatchObject({ verified: true, subscription: { active: true } })
  })

  it('[U4] uses the challenge up', async () => {
    const { id } = await created()
    await verify(id)
    expect(await openChallenge(id)).toBeNull()
  })

  it('[U4] of a deleted one is refused, of an unknown one null, and nothing is sent', async () => {
    const { id } = await created()
    await deleteSubscription(pool(), id)
    expect((await refusalOf(verify(id))).code).toBe('subscription_deleted')
    for (const none of ['999999999', 'abc', `0${id}`]) expect(await verify(none)).toBeNull()
    expect(receiver.requests).toEqual([])
  })

  it('[U4] under another master key is refused with the reason, and nothing is sent', async () => {
    const { id } = await created()
    const refusal = await refusalOf(verify(id, createSecretBox(randomBytes(32))))
    expect(refusal.code).toBe('subscription_secret_invalid')
    expect(refusal.message).toMatch(/another SAGAPOST_MASTER_KEY$/)
    expect(receiver.requests).toEqual([])
  })

  it('[U4] without a secret is refused, with the remedy', async () => {
    const { id } = await created()
    await database.pool.query('DELETE FROM sagapost.subscription_secrets WHERE subscription_id = $1', [id])
    expect((await refusalOf(verify(id))).message).toMatch(/has no signing secret: rotate it/)
    await rotateSecret(pool(), id, { box })
    expect(await verify(id)).toMatchObject({ verified: true })
  })
})

describe('while the receiver is slow to answer', () => {
  it('[U4] no transaction is open', async () => {
    const held = heldReceiver()
    const { id } = await created()
    const verifying = verify(id)
    await held.arrived()
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS open FROM pg_stat_activity
       WHERE datname = current_database() AND usename = session_user AND xact_start IS NOT NULL AND pid <> pg_backend_pid()
         AND backend_type = 'client backend'`,
    )
    expect(rows).toEqual([{ open: 0 }])
    held.answer()
    expect(await verifying).toMatchObject({ verified: true })
  })

  it('[U4] another URL leaves the verification without effect', async () => {
    const held = heldReceiver()
    const { id } = await created()
    const verifying = verify(id)
    await held.arrived()
    await change(id, { callbackUrl: `${receiver.url}other` })
    held.answer()
    expect(await verifying).toMatchObject({ verified: false, reason: 'callback_url_changed' })
    expect(await read(id)).toMatchObject({
      callbackUrl: `${receiver.url}other`,
      verified: false,
      active: false,
    })
  })

  it('[U4] another URL and back again leaves it without effect, too', async () => {
    const held = heldReceiver()
    const { id, url } = await created()
    const verifying = verify(id)
    await held.arrived()
    await change(id, { callbackUrl: `${receiver.url}other` })
    await change(id, { callbackUrl: url })
    held.answer()
    expect(await verifying).toMatchObject({ verified: false, reason: 'superseded' })
    expect(await read(id)).toMatchObject({ verified: false, active: false })
  })

  it('[U4] another change does not matter', async () => {
    const held = heldReceiver()
    const { id } = await created()
    const verifying = verify(id)
    await held.arrived()
    await change(id, { eventType: 'order.paid', maxAttempts: 3 })
    held.answer()
    expect(await verifying).toMatchObject({
      verified: true,
      subscription: { eventType: 'order.paid', active: true },
    })
  })

  it('[U4] deletion wins', async () => {
    const held = heldReceiver()
    const { id } = await created()
    const verifying = verify(id)
    await held.arrived()
    expect(await openChallenge(id)).not.toBeNull()
    const deleted = await deleteSubscription(pool(), id)
    expect(await openChallenge(id)).toBeNull()
    held.answer()
    expect(await verifying).toMatchObject({ verified: false, reason: 'subscription_deleted' })
    expect(await read(id)).toEqual(deleted)
  })

  it('[U4] a second verification replaces the first, whose answer no longer counts', async () => {
    const held = heldReceiver()
    const { id } = await created()
    const first = verify(id)
    await held.arrived()
    const second = verify(id)
    await held.arrived()
    held.answer()
    expect(await first).toMatchObject({ verified: false, reason: 'superseded' })
    expect(await read(id)).toMatchObject({ verified: false, active: false })
    held.answer()
    expect(await second).toMatchObject({ verified: true })
    expect(await read(id)).toMatchObject({ verified: true, active: true })
  })

  it('[U4] a first verification that is answered last reports that the URL is verified', async () => {
    const held = heldReceiver()
    const { id } = await created()
    const first = verify(id)
    await held.arrived()
    const answerFirst = held.answer
    const second = verify(id)
    await held.arrived()
    respond = answerAsJson
    // The third takes the place of both and passes at once.
    expect(await verify(id)).toMatchObject({ verified: true })
    answerFirst()
    held.answer()
    expect(await first).toMatchObject({ verified: true, subscription: { active: true } })
    expect(await second).toMatchObject({ verified: true })
  })

  it('[U4] many concurrent verifications end with one verified subscription and no error', async () => {
    const { id } = await created()
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => verify(id)))
    expect(outcomes.some((outcome) => outcome?.verified)).toBe(true)
    for (const outcome of outcomes) {
      if (outcome?.verified === false) expect(outcome.reason).toBe('superseded')
    }
    expect(await read(id)).toMatchObject({ verified: true, active: true })
  })
})

describe('a test request', () => {
  it('[U2] is one signed POST at once, in any state, and writes nothing', async () => {
    respond = () => ({ status: 201, body: 'thank you' })
    const { id, secret } = await created('hooks', { 'x-team': 'billing' })
    const before = await read(id)
    expect(await test(id)).toMatchObject({
      delivered: true,
      responseStatus: 201,
      responseExcerpt: 'thank you',
      durationMs: expect.any(Number),
    })
    expect(await read(id)).toEqual(before)
    const [request] = receiver.requests as [ReceivedRequest]
    expect(request).toMatchObject({
      method: 'POST',
      headers: { 'x-team': 'billing', 'webhook-id': expect.stringMatching(/^test_[0-9a-f]{32}$/) },
    })
    expect(JSON.parse(request.body.toString())).toEqual({
      type: 'sagapost.subscription.test',
      subscriptionId: id,
    })
    checkSignature(request, secret)
    const { rows } = await database.pool.query(
      `SELECT (SELECT count(*) FROM sagapost.events)::int AS events,
              (SELECT count(*) FROM sagapost.webhook_delivery_sagas)::int AS deliveries`,
    )
    expect(rows).toEqual([{ events: 0, deliveries: 0 }])
  })

  it('[U2] reports what went wrong, and deactivates nothing by itself', async () => {
    const { id } = await created()
    await confirm(id)
    respond = () => ({ status: 410, body: 'gone' })
    expect(await test(id)).toMatchObject({
      delivered: false,
      errorCode: 'http_410',
      responseStatus: 410,
      responseExcerpt: 'gone',
    })
    expect(await read(id)).toMatchObject({ active: true })
  })

  it('[U2] to a deleted one is refused, to an unknown one null, and nothing is sent', async () => {
    const { id } = await created()
    await deleteSubscription(pool(), id)
    expect((await refusalOf(test(id))).code).toBe('subscription_deleted')
    expect(await test('999999999')).toBeNull()
    expect(receiver.requests).toEqual([])
  })
})
