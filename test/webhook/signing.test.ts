import { createPublicKey, verify } from 'node:crypto'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import { describe, expect, it } from 'vitest'
import { formatSecret, generateSecret, publicKeyOf, type SigningSecret } from '../../src/webhook/index.js'
import { signatureHeaders } from '../../src/webhook/sign-request.js'
import { parseSecret } from '../support/parse-secret.js'

const nowS = () => Math.floor(Date.now() / 1000)

const sign = (secrets: readonly SigningSecret[], body = '{"test": 2432232314}', timestampS = nowS()) =>
  signatureHeaders({ webhookId: 'evt_42', timestampS, body: Buffer.from(body), secrets })

/** Verifies a v1a signature as a receiver would: from the public key's text and the headers alone. */
function verifyEd25519(publicKey: string, headers: Record<string, string>, body: string): boolean {
  const raw = Buffer.from(publicKey.replace('whpk_', ''), 'base64')
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') },
    format: 'jwk',
  })
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  return (headers['webhook-signature'] ?? '')
    .split(' ')
    .filter((signature) => signature.startsWith('v1a,'))
    .some((signature) => verify(null, signed, key, Buffer.from(signature.slice(4), 'base64')))
}

describe('published vectors of Standard Webhooks', () => {
  const message = {
    webhookId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampS: 1614265330,
    body: Buffer.from('{"test": 2432232314}'),
  }

  it('HMAC (libraries/javascript/src/webhook.test.ts, "sign function works")', () => {
    const secret = parseSecret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
    expect(signatureHeaders({ ...message, secrets: [secret] })).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  it('ed25519 (libraries/go/webhook_asymmetric_test.go, TestAsymmetricWebhookSign)', () => {
    const secret = parseSecret('whsk_VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=')
    expect(signatureHeaders({ ...message, secrets: [secret] })['webhook-signature']).toBe(
      'v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==',
    )
  })
})

describe.each([
  ['standardwebhooks', (secret: string) => new Webhook(secret)],
  ['svix', (secret: string) => new SvixWebhook(secret)],
])('the independent verifier %s', (_name, makeVerifier) => {
  it('accepts any JSON body that was signed with its secret', () => {
    fc.assert(
      fc.property(fc.json(), (body) => {
        const secret = generateSecret()
        const verified = makeVerifier(formatSecret(secret)).verify(body, sign([secret], body))
        expect(verified).toEqual(JSON.parse(body))
      }),
      { numRuns: 50 },
    )
  })

  it('accepts either secret while two are in use, and a v1a signature beside them', () => {
    const [old, current, asymmetric] = [generateSecret(), generateSecret(), generateSecret('v1a')]
    const headers = sign([current, old, asymmetric])
    for (const secret of [old, current]) {
      expect(() => makeVerifier(formatSecret(secret)).verify('{"test": 2432232314}', headers)).not.toThrow()
    }
    expect(() =>
      makeVerifier(formatSecret(generateSecret())).verify('{"test": 2432232314}', headers),
    ).toThrow()
  })

  it('refuses a request that was tampered with: body, id, time or signature', () => {
    const secret = generateSecret()
    const verifier = makeVerifier(formatSecret(secret))
    const headers = sign([secret])
    const body = '{"test": 2432232314}'
    expect(() => verifier.verify(body, headers)).not.toThrow()
    expect(() => verifier.verify('{"test": 2432232315}', headers)).toThrow()
    expect(() => verifier.verify(body, { ...headers, 'webhook-id': 'evt_43' })).toThrow()
    // From the one that was signed: another second may have begun since.
    const earlier = String(Number(headers['webhook-timestamp']) - 1)
    expect(() => verifier.verify(body, { ...headers, 'webhook-timestamp': earlier })).toThrow()
    expect(() => verifier.verify(body, { ...headers, 'webhook-signature': 'v1,AAAA' })).toThrow()
  })

  it('refuses an honest request that is replayed later', () => {
    const secret = generateSecret()
    const headers = sign([secret], '{}', nowS() - 3_600)
    expect(() => makeVerifier(formatSecret(secret)).verify('{}', headers)).toThrow()
  })
})

describe('ed25519', () => {
  it('verifies with the public key, also beside an HMAC signature, and with no other key', () => {
    const secret = generateSecret('v1a')
    const headers = sign([generateSecret(), secret], '{"a":1}')
    expect(verifyEd25519(publicKeyOf(secret), headers, '{"a":1}')).toBe(true)
    expect(verifyEd25519(publicKeyOf(secret), headers, '{"a":2}')).toBe(false)
    expect(verifyEd25519(publicKeyOf(generateSecret('v1a')), headers, '{"a":1}')).toBe(false)
  })
})

describe('secrets', () => {
  it.each(['v1', 'v1a'] as const)('of scheme %s are new each time and can be written down', (scheme) => {
    const secret = generateSecret(scheme)
    expect(secret.key).toHaveLength(32)
    expect(parseSecret(formatSecret(secret))).toEqual(secret)
    expect(generateSecret(scheme).key.equals(secret.key)).toBe(false)
    expect(formatSecret(secret)).toMatch(scheme === 'v1' ? /^whsec_/ : /^whsk_/)
  })
})
