import type { SigningSecret } from '../../src/webhook/index.js'

/** The secret that a text was written from. Sagapost itself stores the bytes, and reads no such text. */
export function parseSecret(text: string): SigningSecret {
  const [, prefix, base64 = ''] = /^(whsec|whsk)_(.+)$/.exec(text) ?? []
  if (prefix === undefined) throw new Error('a signing secret begins with whsec_ or whsk_')
  return { scheme: prefix === 'whsec' ? 'v1' : 'v1a', key: Buffer.from(base64, 'base64') }
}
