import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'

/** `whsec_…` (HMAC, scheme v1) or an ed25519 private key (scheme v1a, `whsk_…`, the seed), as bytes. */
export type SigningSecret = { scheme: 'v1' | 'v1a'; key: Buffer }

// Standard Webhooks asks for 24 to 64 bytes; 32 is the size of the hash's own strength.
const HMAC_KEY_BYTES = 32
const ED25519_SEED_BYTES = 32

const prefixes = { v1: 'whsec_', v1a: 'whsk_' } as const
const PUBLIC_KEY_PREFIX = 'whpk_'

/** The PKCS #8 prefix of a 32-byte seed: Node accepts raw private keys only in this format. */
const pkcs8Header = Buffer.from('302e020100300506032b657004220420', 'hex')

export function generateSecret(scheme: 'v1' | 'v1a' = 'v1'): SigningSecret {
  if (scheme === 'v1') return { scheme, key: randomBytes(HMAC_KEY_BYTES) }
  const { privateKey } = generateKeyPairSync('ed25519')
  const der = privateKey.export({ format: 'der', type: 'pkcs8' })
  return { scheme, key: Buffer.from(der.subarray(-ED25519_SEED_BYTES)) }
}

export function formatSecret(secret: SigningSecret): string {
  return prefixes[secret.scheme] + secret.key.toString('base64')
}

/** The key with which receivers verify v1a signatures. It is public and cannot sign. */
export function publicKeyOf(secret: SigningSecret): string {
  if (secret.scheme !== 'v1a') throw new Error('only a v1a secret has a public key')
  const der = createPublicKey(privateKeyOf(secret)).export({ format: 'der', type: 'spki' })
  return PUBLIC_KEY_PREFIX + der.subarray(-ED25519_SEED_BYTES).toString('base64')
}

/** Parsing a key costs more than signing with it, so each secret that the caller keeps is parsed once. */
const privateKeys = new WeakMap<Buffer, KeyObject>()

export function privateKeyOf(secret: SigningSecret): KeyObject {
  const known = privateKeys.get(secret.key)
  if (known) return known
  const der = Buffer.concat([pkcs8Header, secret.key])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  privateKeys.set(secret.key, privateKey)
  return privateKey
}
