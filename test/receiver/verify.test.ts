import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { verify, WebhookVerificationError } from '../../src/receiver/index.js'
import { formatSecret, generateSecret, publicKeyOf } from '../../src/webhook/index.js'
import { challengeBody, nowS, signIndependently, signRequest } from './signed-request.js'

const signing = generateSecret()
const secret = formatSecret(signing)

function refusal(call: () => unknown): string {
  try {
    call()
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code
    throw error
  }
  return 'accepted'
}

describe('a request that was signed', () => {
  it('by Sagapost is an event', () => {
    const { headers, body } = signRequest({ secrets: [signing], timestampS: nowS() - 3 })
    expect(verify(headers, body, secret)).toEqual({
      kind: 'event',
      id: 'evt_42',
      type: 'order.placed',
      attempt: 2,
      timestamp: new Date(Number(headers['webhook-timestamp']) * 1000),
      correlationId: 'checkout-4711',
      payload: { order: 7, total: '12.50 €' },
      body,
      challenge: undefined,
    })
  })

  it('by the standardwebhooks package is an event', () => {
    const { headers, body } = signIndependently(signing)
    expect(verify(headers, body, secret)).toMatchObject({ id: 'evt_43', payload: { order: 7 } })
  })

  it('is verified whatever the JSON', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const { headers, body } = signRequest({ secrets: [signing], body: text })
        expect(verify(headers, body, secret)).toMatchObject({ payload: JSON.parse(text), body })
      }),
    )
  })

  it.each([
    ['Node', (headers: Record<string, string>) => headers],
    ['fetch', (headers: Record<string, string>) => new Headers(headers)],
    [
      'a record in capitals',
      (headers: Record<string, string>) =>
        Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value])),
    ],
    [
      'a record of lists',
      (headers: Record<string, string>) =>
        Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    ],
  ])('is verified with headers of %s', (_name, convert) => {
    const { headers, body } = signRequest({ secrets: [signing] })
    expect(verify(convert(headers), body, secret)).toMatchObject({ id: 'evt_42', type: 'order.placed' })
  })

  it('is verified with its body as bytes, within a larger buffer too, or as text', () => {
    const { headers, body } = signRequest({ secrets: [signing] })
    const larger = Buffer.concat([Buffer.from('before'), body, Buffer.from('behind')])
    const within = new Uint8Array(larger.buffer, larger.byteOffset + 6, body.length)
    for (const given of [body, new Uint8Array(body), within, body.toString()]) {
      expect(verify(headers, given, secret).body.equals(body)).toBe(true)
    }
  })

  it('has no type, attempt or correlation id unless its headers say so', () => {
    const { headers, body } = signRequest({ secrets: [signing], headers: { 'sagapost-attempt': 'soon' } })
    expect(verify(headers, body, secret)).toMatchObject({
      kind: 'event',
      type: undefined,
      attempt: undefined,
      correlationId: undefined,
    })
  })

  it.each(['null', '7', '"text"', '[]', '{"type": 7}'])('may hold %s, which is no type', (text) => {
    const { headers, body } = signRequest({ secrets: [signing], headers: {}, body: text })
    expect(verify(headers, body, secret)).toMatchObject({ kind: 'event', type: undefined })
  })
})

describe('keys', () => {
  it('while a secret is rotated either end may have both', () => {
    const other = generateSecret()
    const both = signRequest({ secrets: [other, signing] })
    expect(verify(both.headers, both.body, secret)).toMatchObject({ id: 'evt_42' })
    expect(verify(both.headers, both.body, formatSecret(other))).toMatchObject({ id: 'evt_42' })
    const one = signRequest({ secrets: [signing] })
    expect(verify(one.headers, one.body, [formatSecret(other), secret])).toMatchObject({ id: 'evt_42' })
  })

  it('v1a is verified with the public key that was shown, beside v1 too', () => {
    const ed25519 = generateSecret('v1a')
    const publicKey = publicKeyOf(ed25519)
    const { headers, body } = signRequest({ secrets: [ed25519] })
    expect(verify(headers, body, publicKey)).toMatchObject({ id: 'evt_42' })
    expect(verify(headers, body, [secret, publicKey])).toMatchObject({ id: 'evt_42' })
    expect(refusal(() => verify(headers, Buffer.concat([body, Buffer.from(' ')]), publicKey))).toBe(
      'no_matching_signature',
    )
    expect(refusal(() => verify(headers, body, publicKeyOf(generateSecret('v1a'))))).toBe(
      'no_matching_signature',
    )
    const both = signRequest({ secrets: [ed25519, signing] })
    expect(verify(both.headers, both.body, secret)).toMatchObject({ id: 'evt_42' })
    expect(verify(both.headers, both.body, publicKey)).toMatchObject({ id: 'evt_42' })
  })

  it('a signature of one scheme is not valid under the other', () => {
    const ed25519 = generateSecret('v1a')
    const { headers, body } = signRequest({ secrets: [ed25519] })
    const relabelled = { ...headers, 'webhook-signature': `v1,${headers['webhook-signature']?.slice(4)}` }
    for (const key of [secret, publicKeyOf(ed25519)]) {
      expect(refusal(() => verify(relabelled, body, key))).toBe('no_matching_signature')
    }
  })

  it('the published vectors of Standard Webhooks verify', () => {
    const headers = {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    }
    const now = () => 1614265330_000
    const body = '{"test": 2432232314}'
    expect(verify(headers, body, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', { now })).toMatchObject({
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    })
  })

  it.each([
    ['nothing', undefined],
    ['an empty text', ''],
    ['no prefix', secret.slice(6)],
    ['a lost character', secret.slice(0, -2)],
    ['too few bytes', `whsec_${Buffer.alloc(23).toString('base64')}`],
    ['too many bytes', `whsec_${Buffer.alloc(65).toString('base64')}`],
    ['the private key', formatSecret(generateSecret('v1a'))],
    ['a public key that is cut', publicKeyOf(generateSecret('v1a')).slice(0, -4)],
  ])('%s is not a secret, and is not printed in the message', (_what, text) => {
    const { headers, body } = signRequest({ secrets: [signing] })
    expect(refusal(() => verify(headers, body, text as string))).toBe('bad_secret')
    expect(refusal(() => verify(headers, body, [secret, text as string]))).toBe('bad_secret')
    expect(() => verify(headers, body, text as string)).not.toThrow(text?.slice(6, 20) || 'nothing to repeat')
  })

  it('may stand between spaces and line ends, as in a file; none at all fit nothing', () => {
    const { headers, body } = signRequest({ secrets: [signing] })
    expect(verify(headers, body, `${secret}\n`)).toMatchObject({ id: 'evt_42' })
    expect(refusal(() => verify(headers, body, []))).toBe('no_matching_signature')
  })
})

describe('a request is refused', () => {
  const { headers, body } = signRequest({ secrets: [signing] })
  const now = () => Number(headers['webhook-timestamp']) * 1000

  it.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])('without %s', (name) => {
    const { [name]: value = '', ...rest } = headers
    expect(refusal(() => verify(rest, body, secret))).toBe('missing_headers')
    expect(refusal(() => verify({ ...rest, [name]: '' }, body, secret))).toBe('missing_headers')
    expect(refusal(() => verify({ ...rest, [name]: [value, value] }, body, secret))).toBe('missing_headers')
    expect(refusal(() => verify(new Headers(rest), body, secret))).toBe('missing_headers')
  })

  it('with another id, timestamp or body than was signed', () => {
    const later = String(Number(headers['webhook-timestamp']) + 1)
    expect(refusal(() => verify({ ...headers, 'webhook-id': 'evt_43' }, body, secret))).toBe(
      'no_matching_signature',
    )
    expect(refusal(() => verify({ ...headers, 'webhook-timestamp': later }, body, secret))).toBe(
      'no_matching_signature',
    )
    for (const [at, byte] of body.entries()) {
      const tampered = Buffer.from(body)
      tampered[at] = byte ^ 1
      expect(refusal(() => verify(headers, tampered, secret))).toBe('no_matching_signature')
    }
  })

  it('with any other signature', () => {
    const signature = headers['webhook-signature'] ?? ''
    const others = ['v1', 'v1,', ',', 'v1,AAAA', signature.slice(3), `v2,${signature.slice(3)}`, 'v1a,AAAA']
    for (const other of others) {
      const given = { ...headers, 'webhook-signature': other }
      expect(refusal(() => verify(given, body, [secret, publicKeyOf(generateSecret('v1a'))]))).toBe(
        'no_matching_signature',
      )
    }
    const among = { ...headers, 'webhook-signature': `v2,x ${signature}` }
    expect(verify(among, body, secret)).toMatchObject({ id: 'evt_42' })
  })

  it('with the right signature behind more of them than a sender would use', () => {
    const many = [...Array(16).fill('v1,AAAA'), headers['webhook-signature']].join(' ')
    expect(refusal(() => verify({ ...headers, 'webhook-signature': many }, body, secret))).toBe(
      'no_matching_signature',
    )
  })

  it('with another secret', () => {
    expect(refusal(() => verify(headers, body, formatSecret(generateSecret())))).toBe('no_matching_signature')
  })

  it('when it was signed more than five minutes ago, or ahead', () => {
    for (const [shiftMs, outcome] of [
      [300_000, 'accepted'],
      [300_001, 'timestamp_out_of_range'],
      [-300_000, 'accepted'],
      [-300_001, 'timestamp_out_of_range'],
    ] as const) {
      expect(refusal(() => verify(headers, body, secret, { now: () => now() + shiftMs }))).toBe(outcome)
    }
    const old = signRequest({ secrets: [signing], timestampS: nowS() - 301 })
    expect(refusal(() => verify(old.headers, old.body, secret))).toBe('timestamp_out_of_range')
    expect(verify(old.headers, old.body, secret, { toleranceMs: 400_000 })).toMatchObject({ id: 'evt_42' })
    expect(refusal(() => verify(headers, body, secret, { toleranceMs: Number.NaN }))).toBe(
      'timestamp_out_of_range',
    )
  })

  it.each(['soon', '-5', '1e9', '17.5', '0x10', '1234567890123'])('with the timestamp %s', (timestamp) => {
    expect(refusal(() => verify({ ...headers, 'webhook-timestamp': timestamp }, body, secret))).toBe(
      'bad_timestamp',
    )
  })

  it('when parts of the body are passed off as id and timestamp', () => {
    const timestampS = nowS()
    const signed = signRequest({ secrets: [signing], body: `${timestampS}.5`, timestampS: timestampS - 1 })
    const shifted = {
      ...signed.headers,
      'webhook-id': `evt_42.${timestampS - 1}`,
      'webhook-timestamp': String(timestampS),
    }
    expect(refusal(() => verify(signed.headers, signed.body, secret))).toBe('accepted')
    expect(refusal(() => verify(shifted, '5', secret))).toBe('bad_id')
  })

  it('when it is signed but not JSON, or not UTF-8', () => {
    for (const bytes of [Buffer.from('{"order": '), Buffer.alloc(0), Buffer.from([0x22, 0xff, 0x22])]) {
      const broken = signRequest({ secrets: [signing], body: bytes })
      expect(refusal(() => verify(broken.headers, broken.body, secret))).toBe('bad_payload')
    }
  })

  it('when the body was parsed before', () => {
    expect(refusal(() => verify(headers, { order: 7 } as unknown as Buffer, secret))).toBe('body_consumed')
  })
})

describe('requests that are no events', () => {
  it('are distinguished', () => {
    const challenge = signRequest({ secrets: [signing], headers: {}, body: challengeBody })
    expect(verify(challenge.headers, challenge.body, secret)).toMatchObject({
      kind: 'verification',
      type: 'sagapost.subscription.verification',
      challenge: 'Jx2-challenge',
    })
    const test = signRequest({
      secrets: [signing],
      headers: {},
      body: '{"type":"sagapost.subscription.test","subscriptionId":"7"}',
    })
    expect(verify(test.headers, test.body, secret)).toMatchObject({ kind: 'test', challenge: undefined })
  })

  it('an event may look like one in its payload and even in its type', () => {
    for (const type of ['order.placed', 'sagapost.subscription.verification']) {
      const { headers, body } = signRequest({
        secrets: [signing],
        headers: { 'sagapost-event-type': type },
        body: challengeBody,
      })
      expect(verify(headers, body, secret)).toMatchObject({ kind: 'event', type, challenge: undefined })
    }
  })
})
