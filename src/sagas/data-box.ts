import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { SagapostError } from '../errors/index.js'

const KEY_BYTES = 32
const FORMAT_VERSION = 1
const KEY_ID_BYTES = 4
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_ID_BYTES + NONCE_BYTES
export const SEALED_KEY = '$sagapost_sealed'

/** The row and column that the data belongs to: elsewhere it does not open. */
export interface DataPlace {
  /** Of a signal, its topic. */
  readonly sagaId: string
  readonly column: 'initial_data' | 'result_data' | 'output_data' | 'payload'
  readonly stepIndex?: number
}

/** [G15] Data columns at rest. Text of JSON goes in, JSON that PostgreSQL takes comes out, and back. */
export interface DataBox {
  seal(json: string, place: DataPlace): string
  /** Throws `saga_data_unreadable`. What was written before there was a key is read as it is. */
  open(json: string, place: DataPlace): string
}

/** Sealed data that cannot be opened here. */
export class DataUnreadableError extends SagapostError {
  /** Nobody can, whatever key he has. */
  readonly forGood: boolean

  constructor({ sagaId, column }: DataPlace, why: string, forGood: boolean, cause?: unknown) {
    super('saga_data_unreadable', `${column} of saga ${sagaId} cannot be opened: ${why}`, { cause })
    this.forGood = forGood
  }
}

/** Without a key: as it is. Sealed data cannot be read. */
export const openBox: DataBox = {
  seal: (json) => json,
  open(json, place) {
    if (!looksSealed(json)) return json
    readSealed(json, place)
    throw new DataUnreadableError(place, 'it is encrypted, and no key is given', false)
  },
}

/** For operators, who have no key: sealed data is shown as it is kept. */
export const blindBox: DataBox = { seal: (json) => json, open: (json) => json }

/** Data as a box without a key shows it. */
export function isSealed(value: unknown): boolean {
  return typeof value === 'object' && value !== null && SEALED_KEY in value
}

/**
 * AES-256-GCM. Sealed data is `{"$sagapost_sealed": "<base64>"}` of
 * `version (1) | key id (4) | nonce (12) | ciphertext | tag (16)`, authenticated together with its place.
 */
export function createDataBox(key: Buffer): DataBox {
  if (key.length !== KEY_BYTES) {
    throw new SagapostError('config_invalid', `The key for the data of sagas must be ${KEY_BYTES} bytes`)
  }
  const keyId = createHmac('sha256', key).update('sagapost data key id').digest().subarray(0, KEY_ID_BYTES)
  return {
    seal(json, place) {
      const header = Buffer.concat([Buffer.of(FORMAT_VERSION), keyId, randomBytes(NONCE_BYTES)])
      const cipher = createCipheriv('aes-256-gcm', key, header.subarray(-NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      cipher.setAAD(authenticated(header, place))
      const sealed = Buffer.concat([header, cipher.update(json, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return JSON.stringify({ [SEALED_KEY]: sealed.toString('base64') })
    },
    open(json, place) {
      if (!looksSealed(json)) return json
      const sealed = readSealed(json, place)
      const header = sealed.subarray(0, HEADER_BYTES)
      if (!header.subarray(1, 1 + KEY_ID_BYTES).equals(keyId)) {
        throw new DataUnreadableError(place, 'it was encrypted with another key', false)
      }
      const decipher = createDecipheriv('aes-256-gcm', key, header.subarray(-NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(authenticated(header, place))
      decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        const opened = [decipher.update(sealed.subarray(HEADER_BYTES, -TAG_BYTES)), decipher.final()]
        return Buffer.concat(opened).toString('utf8')
      } catch (cause) {
        throw new DataUnreadableError(place, 'it is damaged or belongs elsewhere', true, cause)
      }
    },
  }
}

function authenticated(header: Buffer, { sagaId, column, stepIndex }: DataPlace): Buffer {
  return Buffer.concat([header, Buffer.from(`saga data\0${sagaId}\0${column}\0${stepIndex ?? ''}`)])
}

const looksSealed = (json: string) => json.startsWith(`{"${SEALED_KEY}"`)

/** What was sealed, as far as one can tell without its key. */
function readSealed(json: string, place: DataPlace): Buffer {
  const text = (JSON.parse(json) as Record<string, unknown>)[SEALED_KEY]
  const sealed = Buffer.from(typeof text === 'string' ? text : '', 'base64')
  if (sealed.length < HEADER_BYTES + TAG_BYTES) throw new DataUnreadableError(place, 'it is damaged', true)
  if (sealed[0] !== FORMAT_VERSION) {
    // A newer release may know it.
    throw new DataUnreadableError(place, `its format ${sealed[0]} is unknown`, false)
  }
  return sealed
}
