import { SagapostError } from '../errors/index.js'

export const MASTER_KEY_BYTES = 32

/** SAGAPOST_MASTER_KEY as an operator gives it. The text itself is never repeated in an error. */
export function parseMasterKey(text: string): Buffer {
  const unpadded = text.trim().replace(/=$/, '')
  const key = Buffer.from(unpadded, 'base64')
  // Buffer.from skips what is not base64; only what reads back as it was written is taken.
  if (key.length !== MASTER_KEY_BYTES || key.toString('base64') !== `${unpadded}=`) throw invalidMasterKey()
  return key
}

export function invalidMasterKey(): SagapostError {
  return new SagapostError(
    'config_invalid',
    `SAGAPOST_MASTER_KEY must be ${MASTER_KEY_BYTES} random bytes in base64 (openssl rand -base64 ${MASTER_KEY_BYTES})`,
  )
}
