import { SagapostError } from '../errors/index.js'

/** As JSON. A signal says that something happened, and little more. */
export const SIGNAL_PAYLOAD_BYTES_MAX = 65_536
const SIGNAL_NAME = /^[A-Za-z][A-Za-z0-9._-]{0,99}$/
const KEY_CHARS_MAX = 255

export function isSignalName(name: unknown): name is string {
  return typeof name === 'string' && SIGNAL_NAME.test(name)
}

export function readSignalKey(key: unknown): string {
  const text = typeof key === 'number' || typeof key === 'bigint' ? String(key) : key
  if (
    typeof text === 'string' &&
    text !== '' &&
    text.length <= KEY_CHARS_MAX &&
    !/\p{Surrogate}|\0/u.test(text)
  ) {
    return text
  }
  throw new SagapostError(
    'signal_invalid',
    `A signal's key has 1 to ${KEY_CHARS_MAX} characters, without U+0000 and halves of surrogate pairs`,
  )
}
