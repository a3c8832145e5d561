import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'

const ALGORITHM = 'aes-256-gcm'
const FORMAT_VERSION = 1
const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES

/** Why something does not open; the first that holds. `mismatch`: damaged, or sealed for another place. */
export type SealFault = 'cut' | 'unknownFormat' | 'otherKey' | 'mismatch'

export interface Sealer {
  seal(plain: Buffer, place: string): Buffer
  open(sealed: Buffer, place: string): { plain: Buffer } | { fault: SealFault; cause?: unknown }
  /** Whether it was sealed with this key, by its key id. */
  hasSealed(sealed: Buffer): boolean
}

/**
 * AES-256-GCM under a key of 32 bytes. What is sealed is
 * `version (1) | key id (4) | nonce (12) | ciphertext | tag (16)`, all of it authenticated together with its place, so
 * that it does not open where it was moved to. The key id tells a wrong key from damage, and lets a later release hold
 * several keys and pick the right one. It is made from the key and `keyIdLabel`. Databases hold this format: labels and
 * places in use stay as they are.
 */
export function createSealer(key: Buffer, keyIdLabel: string): Sealer {
  const keyId = createHmac('sha256', key).update(keyIdLabel).digest().subarray(0, KEY_ID_BYTES)
  const hasSealed = (sealed: Buffer) => sealed.subarray(1, 1 + KEY_ID_BYTES).equals(keyId)

  return {
    hasSealed,
    seal(plain, place) {
      // A fresh random nonce each time: under one key, GCM stays safe for 2^32 of them.
      const nonce = randomBytes(NONCE_BYTES)
      const header = Buffer.concat([Buffer.of(FORMAT_VERSION), keyId, nonce])
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      cipher.setAAD(authenticated(header, place))
      return Buffer.concat([header, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    },
    open(sealed, place) {
      const fault = formFaultOf(sealed)
      if (fault) return { fault }
      if (!hasSealed(sealed)) return { fault: 'otherKey' }
      const header = sealed.subarray(0, HEADER_BYTES)
      const nonce = header.subarray(-NONCE_BYTES)
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(authenticated(header, place))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        const text = decipher.update(sealed.subarray(HEADER_BYTES, -TAG_BYTES))
        return { plain: Buffer.concat([text, decipher.final()]) }
      } catch (cause) {
        return { fault: 'mismatch', cause }
      }
    },
  }
}

/** What is wrong with it, as far as one can tell without its key. */
export function formFaultOf(sealed: Buffer): 'cut' | 'unknownFormat' | undefined {
  if (sealed.length < HEADER_BYTES + TAG_BYTES) return 'cut'
  return sealed[0] === FORMAT_VERSION ? undefined : 'unknownFormat'
}

function authenticated(header: Buffer, place: string): Buffer {
  return Buffer.concat([header, Buffer.from(place)])
}
