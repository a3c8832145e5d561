import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKey, type Scope } from '../../src/api-keys/index.js'
import { useDatabase } from '../support/database.js'
import { type Receiver, startReceiver } from '../support/https-receiver.js'
import { useApi } from './api-server.js'

const database = useDatabase()
let receiver: Receiver
let answer: (body: string) => { status?: number; body?: string }
beforeAll(async () => {
  receiver = await startReceiver({ respond: ({ body }) => answer(body.toString()) })
})
afterAll(() => receiver.stop())
const api = useApi(database, () => ({ extraCertificateAuthorities: [receiver.certificateAuthority] }))

const valid = { eventType: 'order.placed', callbackUrl: 'https://receiver.example/hooks' }
const create = (body: unknown = valid, headers: Record<string, string> = {}) =>
  api.call('POST', '/v1/subscriptions', { body, headers })
const countSubscriptions = async () =>
  Number((await database.pool.query('SELECT count(*) FROM sagapost.subscriptions')).rows[0].count)

describe('a subscription', () => {
  it('[U1, U2] is created inactive and unverified, with its secret shown once', async () => {
    const made = await create({ ...valid, maxAttempts: 7, headers: { 'x-tenant': 'north' } })
    expect(made).toMatchObject({ status: 201 })
    expect(made.body).toEqual({
      id: expect.stringMatching(/^\d+$/),
      ...valid,
      active: false,
      verified: false,
      maxAttempts: 7,
      headers: { 'x-tenant': 'north' },
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: made.body.createdAt,
      deletedAt: null,
      deactivationReason: null,
      breaker: null,
      secret: expect.stringMatching(/^whsec_/),
    })
    expect(made.headers.get('location')).toBe(`/v1/subscriptions/${made.body.id}`)
    const { secret: _, ...shown } = made.body
    expect((await api.call('GET', `/v1/subscriptions/${made.body.id}`)).body).toEqual(shown)
    expect(receiver.requests).toEqual([])
  })

  it('[U4, U6] is verified by its owner, which activates it; changed, deactivated, deleted', async () => {
    const { body } = await create({ ...valid, callbackUrl: receiver.url })
    const path = `/v1/subscriptions/${body.id}`
    expect(await api.call('PATCH', path, { body: { active: true } })).toMatchObject({
      status: 409,
      body: { code: 'subscription_not_verified' },
    })

    answer = () => ({ status: 200, body: 'no challenge' })
    expect(await api.call('POST', `${path}/verify`)).toMatchObject({
      status: 422,
      body: { code: 'verification_failed', reason: 'challenge_missing', response: { responseStatus: 200 } },
    })
    answer = () => ({ status: 500 })
    expect(await api.call('POST', `${path}/verify`)).toMatchObject({
      status: 422,
      body: { reason: 'request_failed', response: { delivered: false, errorCode: 'http_500' } },
    })
    answer = (text) => ({ body: JSON.stringify({ challenge: JSON.parse(text).challenge }) })
    const verified = await api.call('POST', `${path}/verify`)
    expect([verified.status, verified.body]).toEqual([200, { verified: true, active: true }])

    const off = await api.call('PATCH', path, { body: { active: false, maxAttempts: 3, headers: {} } })
    expect(off).toMatchObject({ status: 200, body: { active: false, verified: true, maxAttempts: 3 } })
    const moved = await api.call('PATCH', path, { body: { callbackUrl: 'https://elsewhere.example/' } })
    expect(moved.body).toMatchObject({ verified: false, active: false, maxAttempts: 3 })

    for (const _ of [1, 2]) {
      const deleted = await api.call('DELETE', path)
      expect([deleted.status, deleted.text]).toEqual([204, ''])
    }
    expect((await api.call('GET', path)).body.deletedAt).toMatch(/Z$/)
    for (const [method, at, change] of [
      ['PATCH', path, { active: false }],
      ['POST', `${path}/verify`],
      ['POST', `${path}/test`],
      ['POST', `${path}/rotate-secret`],
    ] as const) {
      expect(await api.call(method, at, { body: change })).toMatchObject({
        status: 409,
        body: { code: 'subscription_deleted' },
      })
    }
  })

  it('[U2] is tested with a signed request that creates no event, whatever the response', async () => {
    const { body } = await create({ ...valid, callbackUrl: receiver.url })
    answer = () => ({ status: 418, body: 'teapot' })
    const before = receiver.requests.length
    const tried = await api.call('POST', `/v1/subscriptions/${body.id}/test`)
    expect([tried.status, tried.body]).toEqual([
      200,
      {
        delivered: false,
        responseStatus: 418,
        errorCode: 'http_418',
        durationMs: expect.any(Number),
        responseExcerpt: 'teapot',
      },
    ])
    expect(receiver.requests.slice(before)[0]?.headers['webhook-signature']).toMatch(/^v1,/)
    expect((await database.pool.query('SELECT FROM sagapost.events')).rowCount).toBe(0)
  })

  it.each<[string, unknown, number, string, string?]>([
    ['nothing', '', 400, 'request_invalid', 'body'],
    ['a list', '[]', 400, 'request_invalid'],
    ['what is not JSON', '{', 400, 'request_malformed'],
    ['no eventType', { callbackUrl: valid.callbackUrl }, 400, 'request_invalid', 'eventType'],
    ['a number for a URL', { ...valid, callbackUrl: 7 }, 400, 'request_invalid', 'callbackUrl'],
    ['an unknown field', { ...valid, active: true }, 400, 'request_invalid', 'active'],
    ['__proto__', '{"__proto__":{}}', 400, 'request_invalid', '__proto__'],
    ['__proto__ as a header', '{"headers":{"__proto__":"x"}}', 400, 'request_invalid', 'headers.__proto__'],
    ['a header twice', '{"headers":{"a":"1","a":"2"}}', 400, 'request_invalid', 'headers.a'],
    ['a header that is a number', { ...valid, headers: { a: 1 } }, 400, 'request_invalid', 'headers.a'],
    ['a bad type', { ...valid, eventType: 'a b' }, 422, 'event_type_invalid'],
    ['plain HTTP', { ...valid, callbackUrl: 'http://receiver.example' }, 422, 'callback_url_not_https'],
    ['a private address', { ...valid, callbackUrl: 'https://10.0.0.1/' }, 422, 'callback_url_blocked'],
    ['no URL', { ...valid, callbackUrl: 'https://' }, 422, 'callback_url_invalid'],
    ['0 attempts', { ...valid, maxAttempts: 0 }, 422, 'subscription_invalid'],
    ['half an attempt', { ...valid, maxAttempts: 1.5 }, 422, 'subscription_invalid'],
    ['a header of our own', { ...valid, headers: { 'webhook-id': 'x' } }, 422, 'subscription_invalid'],
    ['a body that is too large', { ...valid, headers: { a: 'x'.repeat(300_000) } }, 413, 'request_too_large'],
  ])('[U1, U3] is refused with %s, and nothing is created', async (_what, body, status, code, field) => {
    const before = await countSubscriptions()
    const refused = await create(body)
    expect(refused).toMatchObject({ status, body: { status, code } })
    if (field) expect(refused.body.errors.map((error: { field: string }) => error.field)).toContain(field)
    expect(await countSubscriptions()).toBe(before)
  })

  it('[U1] that does not exist is 404, whatever its id looks like', async () => {
    for (const id of ['999999', '0', '01', 'x', '9'.repeat(30), '%00', '-1', 'a'.repeat(90)]) {
      for (const [method, path, body] of [
        ['GET', `/v1/subscriptions/${id}`],
        ['PATCH', `/v1/subscriptions/${id}`, {}],
        ['DELETE', `/v1/subscriptions/${id}`],
        ['POST', `/v1/subscriptions/${id}/verify`],
        ['POST', `/v1/subscriptions/${id}/test`],
        ['POST', `/v1/subscriptions/${id}/rotate-secret`],
      ] as const) {
        expect(await api.call(method, path, { body }), path).toMatchObject({
          status: 404,
          body: { code: 'subscription_not_found' },
        })
      }
    }
  })
})

describe('secrets', () => {
  it('[O8] are rotated with an overlap; the same Idempotency-Key rotates once', async () => {
    const { body } = await create()
    const rotate = (key?: string, change?: unknown) =>
      api.call('POST', `/v1/subscriptions/${body.id}/rotate-secret`, {
        ...(change === undefined ? {} : { body: change }),
        headers: key === undefined ? {} : { 'idempotency-key': key },
      })
    const first = await rotate('rotate-1')
    expect(first).toMatchObject({ status: 200, body: { secret: expect.stringMatching(/^whsec_/) } })
    expect(first.body.secret).not.toBe(body.secret)
    expect(Date.parse(first.body.previousExpiresAt)).toBeGreaterThan(Date.now())
    const other = await rotate()
    expect(other.body.secret).not.toBe(first.body.secret)
    // Its own answer, though another rotation has ended that secret since.
    expect((await rotate('rotate-1')).body).toEqual(first.body)
    expect(await rotate('rotate-1', { overlapMs: 0 })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_conflict' },
    })
    expect((await rotate(undefined, { overlapMs: 0, scheme: 'v1a' })).body.secret).toMatch(/^whpk_/)
    expect(await rotate(undefined, { overlapMs: -1 })).toMatchObject({ status: 422 })
    expect(await rotate(undefined, { overlapMs: 'x' })).toMatchObject({ status: 400 })
    const { rows } = await database.pool.query(
      'SELECT FROM sagapost.subscription_secrets WHERE subscription_id = $1',
      [body.id],
    )
    expect(rows).toHaveLength(4)
  })

  it('[O8] two concurrent rotations under one key are one', async () => {
    const { body } = await create()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        api.call('POST', `/v1/subscriptions/${body.id}/rotate-secret`, {
          headers: { 'idempotency-key': 'at-once' },
        }),
      ),
    )
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[0]?.status).toBe(200)
  })
})

describe('creating under an Idempotency-Key', () => {
  it('[O8, O7] creates one subscription, with the same answer, secret included, for as long as the key is kept', async () => {
    const headers = { 'idempotency-key': 'create-1' }
    const input = { ...valid, headers: { b: '2', a: '1' } }
    const before = await countSubscriptions()
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(input, headers)))
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    const [first] = answers
    expect(first?.status).toBe(201)
    expect(await countSubscriptions()).toBe(before + 1)

    await api.call('PATCH', `/v1/subscriptions/${first?.body.id}`, { body: { eventType: 'other' } })
    await api.call('POST', `/v1/subscriptions/${first?.body.id}/rotate-secret`)
    const reordered = {
      headers: { a: '1', b: '2' },
      callbackUrl: valid.callbackUrl,
      eventType: valid.eventType,
    }
    const again = await create(reordered, headers)
    expect([again.status, { ...again.body, headers: null }]).toEqual([201, { ...first?.body, headers: null }])
    expect(await countSubscriptions()).toBe(before + 1)
  })

  it('[O8] is a conflict with another request, even one of another kind', async () => {
    const headers = { 'idempotency-key': 'create-2' }
    const { body } = await create(valid, headers)
    const conflict = { status: 409, body: { code: 'idempotency_conflict' } }
    expect(await create({ ...valid, maxAttempts: 2 }, headers)).toMatchObject(conflict)
    expect(await api.call('POST', `/v1/subscriptions/${body.id}/rotate-secret`, { headers })).toMatchObject(
      conflict,
    )
  })

  it('[O8] a refused request leaves the key free', async () => {
    const headers = { 'idempotency-key': 'create-3' }
    expect((await create({ ...valid, eventType: 'a b' }, headers)).status).toBe(422)
    expect((await api.call('POST', '/v1/subscriptions/999999/rotate-secret', { headers })).status).toBe(404)
    expect((await create(valid, headers)).status).toBe(201)
    expect((await create(valid, { 'idempotency-key': 'x'.repeat(256) })).status).toBe(422)
  })
})

describe('the list of subscriptions', () => {
  it('[U1] lists page by page, newest first, while others are created', async () => {
    const type = 'listed'
    for (const _ of [1, 2, 3, 4, 5]) await create({ ...valid, eventType: type })
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const { status, body } = await api.call(
        'GET',
        `/v1/subscriptions?eventType=${type}&limit=2${cursor ? `&cursor=${cursor}` : ''}`,
      )
      expect(status).toBe(200)
      seen.push(...body.data.map(({ id }: { id: string }) => id))
      cursor = body.nextCursor
      await create({ ...valid, eventType: type })
    } while (cursor !== null)
    expect(seen).toHaveLength(5)
    expect(seen).toEqual([...seen].sort((a, b) => Number(b) - Number(a)))
    expect((await api.call('GET', `/v1/subscriptions?eventType=${type}&active=true`)).body.data).toEqual([])
  })

  it.each([
    'limit=0',
    'limit=201',
    'limit=x',
    'limit=',
    'cursor=nonsense',
    'cursor=',
    'active=yes',
    'unknown=1',
    'limit=1&limit=2',
  ])('[U1] refuses ?%s with 400', async (query) => {
    expect(await api.call('GET', `/v1/subscriptions?${query}`)).toMatchObject({ status: 400 })
  })

  it('[G12] hides the values of headers from keys that may not change them', async () => {
    const { body } = await create({ ...valid, headers: { authorization: 'Basic secret' } })
    const shown: Record<string, unknown> = {}
    for (const scope of ['read', 'operator', 'subscriptions', 'admin'] satisfies Scope[]) {
      const { key } = await createKey(database.as('api_key_admin'), { name: scope, scope })
      shown[scope] = (
        await api.call('GET', `/v1/subscriptions/${body.id}`, { key })
      ).body.headers.authorization
    }
    expect(shown).toEqual({
      read: '***',
      operator: '***',
      subscriptions: 'Basic secret',
      admin: 'Basic secret',
    })
  })
})

it('[U1] shows the state of its endpoint', async () => {
  const { body: made } = await create(valid)
  await database.pool.query(
    `INSERT INTO sagapost.subscription_breakers (subscription_id, failures, last_error_code, opened_at, paused_until, probe_at)
     VALUES ($1, 12, 'http_503', sagapost.now(), sagapost.now() + interval '1 day', sagapost.now())`,
    [made.id],
  )
  const time = expect.stringMatching(/Z$/)
  const breaker = {
    ...{ state: 'open', failures: 12, lastErrorCode: 'http_503' },
    ...{ failingSince: time, openedAt: time, pausedUntil: time, nextProbeAt: time },
  }
  expect((await api.call('GET', `/v1/subscriptions/${made.id}`)).body).toMatchObject({ breaker })
  expect((await api.call('GET', '/v1/subscriptions?limit=1')).body.data).toMatchObject([{ breaker }])
  const { body: healthy } = await create(valid)
  const idsOf = async (failing: boolean) => {
    const { body } = await api.call('GET', `/v1/subscriptions?failing=${failing}&limit=200`)
    return body.data.map(({ id }: { id: string }) => id)
  }
  expect(await idsOf(true)).toEqual([made.id])
  expect(await idsOf(false)).toContain(healthy.id)
  expect(await idsOf(false)).not.toContain(made.id)
})
