import { SagapostError } from '../errors/index.js'

export const MASTER_KEY_BYTES = 32

/** Parses SAGAPOST_MASTER_KEY. Errors never repeat its value. */
export function parseMasterKey(text: string): Buffer {
  const unpadded = text.trim().replace(/=$/, '')
  const key = Buffer.from(unpadded, 'base64')
  // Buffer.from ignores characters that are not base64, so the key must encode back to the same text.
  if (key.length !== MASTER_KEY_BYTES || key.toString('base64') !== `${unpadded}=`) throw invalidMasterKey()
  return key
}

export function invalidMasterKey(): SagapostError {
  return new SagapostError(
    'config_invalid',
    `SAGAPOST_MASTER_KEY must be ${MASTER_KEY_BYTES} random bytes in base64 (openssl rand -base64 ${MASTER_KEY_BYTES})`,
  )
}
