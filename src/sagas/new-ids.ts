import { randomBytes } from 'node:crypto'

const TIME_BYTES = 6
const TRACE_ID_BYTES = 16
const SPAN_ID_BYTES = 8

/**
 * A UUID of version 7: ids that grow with time are adjacent in every index, while random ids made each saga dirty a
 * page of its own in each index.
 */
export function newSagaId(): string {
  const bytes = timedBytes()
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** [G17] W3C requires the last seven bytes to be random; the others are free. */
export function newTraceId(): string {
  return timedBytes().toString('hex')
}

export function newSpanId(): string {
  return randomBytes(SPAN_ID_BYTES).toString('hex')
}

function timedBytes(): Buffer {
  const bytes = randomBytes(TRACE_ID_BYTES)
  bytes.writeUIntBE(Date.now(), 0, TIME_BYTES)
  return bytes
}
