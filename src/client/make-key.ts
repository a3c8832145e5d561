const KEY_BYTES = 16

/** A random idempotency key. Not from randomUUID, which browsers provide only on secure pages. */
export function makeKey(): string {
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
