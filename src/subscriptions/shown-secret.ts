import { formatSecret, publicKeyOf, type SigningSecret } from '../webhook/index.js'

/**
 * What the receiver verifies with: the shared `whsec_…` of v1, or the public key `whpk_…` of v1a. An ed25519 private
 * key never leaves Sagapost; otherwise receivers could sign as well.
 */
export function shownSecret(secret: SigningSecret): string {
  return secret.scheme === 'v1a' ? publicKeyOf(secret) : formatSecret(secret)
}
