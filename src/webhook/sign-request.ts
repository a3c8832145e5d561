import { createHmac, sign } from 'node:crypto'
import { privateKeyOf, type SigningSecret } from './signing-secret.js'

/**
 * The three headers of Standard Webhooks. The signed content is `id.timestamp.body`, signed once per secret, so that a
 * receiver may hold either of two secrets during a rotation.
 */
export function signatureHeaders(input: {
  webhookId: string
  timestampS: number
  body: Buffer
  secrets: readonly SigningSecret[]
}): Record<string, string> {
  const head = `${input.webhookId}.${input.timestampS}.`
  return {
    'webhook-id': input.webhookId,
    'webhook-timestamp': String(input.timestampS),
    'webhook-signature': input.secrets.map((secret) => signatureOf(secret, head, input.body)).join(' '),
  }
}

function signatureOf(secret: SigningSecret, head: string, body: Buffer): string {
  switch (secret.scheme) {
    case 'v1':
      return `v1,${createHmac('sha256', secret.key).update(head).update(body).digest('base64')}`
    case 'v1a': {
      const signed = sign(null, Buffer.concat([Buffer.from(head), body]), privateKeyOf(secret))
      return `v1a,${signed.toString('base64')}`
    }
  }
}
