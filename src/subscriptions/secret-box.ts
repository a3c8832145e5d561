import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { invalidMasterKey, MASTER_KEY_BYTES } from '../config/index.js'
import { SagapostError } from '../errors/index.js'

const FORMAT_VERSION = 1
const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES

/** The row that a ciphertext belongs to. The secret's own id is not known before its insert. */
interface SecretOwner {
  subscriptionId: string
  scheme: string
}

/**
 * Signing secrets at rest: AES-256-GCM under the master key. A sealed secret is
 * `version (1) | key id (4) | nonce (12) | ciphertext | tag (16)`, all of it authenticated together with its
 * owner, so that one that was moved to another subscription does not open. The key id tells a wrong key from
 * a damaged secret, and lets a later release hold several keys and pick the right one.
 */
export interface SecretBox {
  seal(secret: Buffer, owner: SecretOwner): Buffer
  /** Throws `subscription_secret_invalid`: another master key, another owner, or damaged. */
  open(sealed: Buffer, owner: SecretOwner): Buffer
  /** Whether it was sealed with this master key, by its key id. */
  hasSealed(sealed: Buffer): boolean
}

export function createSecretBox(masterKey: Buffer): SecretBox {
  if (masterKey.length !== MASTER_KEY_BYTES) throw invalidMasterKey()
  const keyId = createHmac('sha256', masterKey)
    .update('sagapost master key id')
    .digest()
    .subarray(0, KEY_ID_BYTES)

  const hasSealed = (sealed: Buffer) => sealed.subarray(1, 1 + KEY_ID_BYTES).equals(keyId)

  return {
    hasSealed,
    seal(secret, owner) {
      // A fresh random nonce each time: under one key, GCM stays safe for 2^32 of them.
      const header = Buffer.concat([Buffer.of(FORMAT_VERSION), keyId, randomBytes(NONCE_BYTES)])
      const cipher = createCipheriv('aes-256-gcm', masterKey, header.subarray(-NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      cipher.setAAD(authenticated(header, owner))
      return Buffer.concat([header, cipher.update(secret), cipher.final(), cipher.getAuthTag()])
    },

    open(sealed, owner) {
      if (sealed.length < HEADER_BYTES + TAG_BYTES) throw unreadable(owner, 'it is damaged')
      if (sealed[0] !== FORMAT_VERSION) throw unreadable(owner, `its format ${sealed[0]} is unknown`)
      const header = sealed.subarray(0, HEADER_BYTES)
      if (!hasSealed(sealed)) {
        throw unreadable(owner, 'it was sealed with another SAGAPOST_MASTER_KEY')
      }
      const decipher = createDecipheriv('aes-256-gcm', masterKey, header.subarray(-NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(authenticated(header, owner))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES, -TAG_BYTES)), decipher.final()])
      } catch (cause) {
        throw unreadable(owner, 'it is damaged or belongs to another subscription', cause)
      }
    },
  }
}

function authenticated(header: Buffer, { subscriptionId, scheme }: SecretOwner): Buffer {
  return Buffer.concat([header, Buffer.from(`subscription signing secret\0${subscriptionId}\0${scheme}`)])
}

function unreadable({ subscriptionId }: SecretOwner, why: string, cause?: unknown): SagapostError {
  return new SagapostError(
    'subscription_secret_invalid',
    `A signing secret of subscription ${subscriptionId} cannot be opened: ${why}`,
    { cause },
  )
}
