import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseMasterKey } from '../../src/config/index.js'
import { SagapostError } from '../../src/errors/index.js'
import { createSecretBox } from '../../src/subscriptions/index.js'

const masterKey = randomBytes(32)
const box = createSecretBox(masterKey)

const secrets = fc.uint8Array({ minLength: 1, maxLength: 64 }).map((bytes) => Buffer.from(bytes))
const owners = fc.record({
  subscriptionId: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String),
  scheme: fc.constantFrom('v1', 'v1a'),
})

const refusal = (work: () => unknown): SagapostError => {
  try {
    work()
  } catch (error) {
    if (error instanceof SagapostError) return error
    throw error
  }
  throw new Error('it was accepted')
}

describe('a sealed secret', () => {
  it('[U1] opens to the same bytes for its owner, fits its column, and reveals none of them', () => {
    fc.assert(
      fc.property(secrets, owners, (secret, owner) => {
        const sealed = box.seal(secret, owner)
        expect(box.open(sealed, owner)).toEqual(secret)
        expect(sealed.length).toBe(secret.length + 33)
        // Shorter ones turn up in random bytes by chance.
        if (secret.length >= 8) expect(sealed.includes(secret)).toBe(false)
      }),
    )
  })

  it('[U1] opens for no other owner', () => {
    fc.assert(
      fc.property(secrets, owners, owners, (secret, owner, other) => {
        fc.pre(owner.subscriptionId !== other.subscriptionId || owner.scheme !== other.scheme)
        const { code, message } = refusal(() => box.open(box.seal(secret, owner), other))
        expect(code).toBe('subscription_secret_invalid')
        expect(message).toMatch(/damaged or belongs to another subscription$/)
      }),
    )
  })

  it('[U1] does not open when any bit is flipped, or bytes are missing or added', () => {
    const damages = fc.oneof(
      fc.record({ kind: fc.constant('turn' as const), at: fc.nat(), bit: fc.nat({ max: 7 }) }),
      fc.record({ kind: fc.constant('cut' as const), at: fc.nat() }),
      fc.record({ kind: fc.constant('add' as const), bytes: fc.uint8Array({ minLength: 1, maxLength: 20 }) }),
    )
    fc.assert(
      fc.property(secrets, owners, damages, (secret, owner, damage) => {
        let sealed = box.seal(secret, owner)
        if (damage.kind === 'turn') {
          const at = damage.at % sealed.length
          sealed[at] = (sealed[at] as number) ^ (1 << damage.bit)
        } else if (damage.kind === 'cut') sealed = sealed.subarray(0, damage.at % sealed.length)
        else sealed = Buffer.concat([sealed, damage.bytes])
        const error = refusal(() => box.open(sealed, owner))
        expect(error.code).toBe('subscription_secret_invalid')
        expect(error.message).toContain(`subscription ${owner.subscriptionId} cannot be opened`)
      }),
      { numRuns: 1000 },
    )
  })

  it('[U1] is different each time', () => {
    const owner = { subscriptionId: '1', scheme: 'v1' }
    const sealed = Array.from({ length: 100 }, () => box.seal(Buffer.from('the same'), owner).toString('hex'))
    expect(new Set(sealed).size).toBe(100)
    expect(new Set(sealed.map((hex) => hex.slice(10, 34))).size).toBe(100)
  })

  it('[U1] reports that the master key is another one', () => {
    const owner = { subscriptionId: '7', scheme: 'v1' }
    const sealed = createSecretBox(randomBytes(32)).seal(Buffer.from('secret'), owner)
    expect(refusal(() => box.open(sealed, owner)).message).toBe(
      'A signing secret of subscription 7 cannot be opened: it was sealed with another SAGAPOST_MASTER_KEY',
    )
  })

  it('[U1] reports that its format is a later one', () => {
    const owner = { subscriptionId: '7', scheme: 'v1' }
    const sealed = box.seal(Buffer.from('secret'), owner)
    sealed[0] = 2
    expect(refusal(() => box.open(sealed, owner)).message).toMatch(/its format 2 is unknown$/)
  })
})

describe('a secret from an existing database', () => {
  // Sealed by the first code that sealed any. The key is for this test alone, and no secret.
  const old = createSecretBox(Buffer.alloc(32, 7))
  const sealed = Buffer.from(
    'ARLW/CMQcZt/YUjkECNG3wWhsYfv5Afo6AvmaFtIDBpJ5AjT/UGjPK2a1V8VBcW0+cYZvuQ3g9NvtGE=',
    'base64',
  )

  it('[U1] still opens, and is recognized by its key', () => {
    const opened = old.open(sealed, { subscriptionId: '42', scheme: 'v1' })
    expect(opened.toString()).toBe('a signing secret of a test')
    expect([old.hasSealed(sealed), box.hasSealed(sealed)]).toEqual([true, false])
  })
})

describe('the master key', () => {
  it('[U1] is 32 bytes in base64, with or without padding or a trailing line end', () => {
    expect(parseMasterKey(masterKey.toString('base64'))).toEqual(masterKey)
    expect(parseMasterKey(masterKey.toString('base64').replace('=', ''))).toEqual(masterKey)
    expect(parseMasterKey(`${masterKey.toString('base64')}\n`)).toEqual(masterKey)
  })

  it.each([
    ['nothing', ''],
    ['31 bytes', randomBytes(31).toString('base64')],
    ['33 bytes', randomBytes(33).toString('base64')],
    ['hex', randomBytes(32).toString('hex')],
    ['a passphrase', 'correct horse battery staple'],
    ['other characters in between', `${'A'.repeat(20)}!!${'A'.repeat(23)}=`],
  ])('[U1] is refused in one line that does not print it: %s', (_, text) => {
    const { code, message } = refusal(() => parseMasterKey(text))
    expect([code, message]).toEqual([
      'config_invalid',
      'SAGAPOST_MASTER_KEY must be 32 random bytes in base64 (openssl rand -base64 32)',
    ])
  })

  it('[U1] of another length is refused', () => {
    expect(refusal(() => createSecretBox(randomBytes(16))).code).toBe('config_invalid')
  })
})
