import { createHmac, timingSafeEqual, verify } from 'node:crypto'
import type { VerifyingKey } from './parse-secrets.js'

export interface SignedRequest {
  id: string
  timestampS: string
  /** The entry of webhook-signature. */
  signatures: string
  body: Buffer
}

/** Sagapost sends one per secret, at most two. The limit bounds the work for an unauthenticated sender. */
const SIGNATURES_MAX = 16

/** Whether any signature matches any key, compared in constant time. */
export function hasMatchingSignature(request: SignedRequest, keys: readonly VerifyingKey[]): boolean {
  const head = Buffer.from(`${request.id}.${request.timestampS}.`)
  const signatures = request.signatures.split(' ').slice(0, SIGNATURES_MAX).map(parseSignature)
  return keys.some(({ scheme, key }) => {
    const candidates = signatures.filter((signature) => signature.scheme === scheme)
    if (candidates.length === 0) return false
    if (scheme === 'v1') {
      const expected = createHmac('sha256', key).update(head).update(request.body).digest()
      return candidates.some(
        ({ bytes }) => bytes.length === expected.length && timingSafeEqual(bytes, expected),
      )
    }
    const signed = Buffer.concat([head, request.body])
    return candidates.some(({ bytes }) => verify(null, signed, key, bytes))
  })
}

/** Parses `v1,<base64>`; the bytes of an unknown version are ignored. */
function parseSignature(text: string): { scheme: string; bytes: Buffer } {
  const comma = text.indexOf(',')
  return { scheme: text.slice(0, comma), bytes: Buffer.from(text.slice(comma + 1), 'base64') }
}
