import { Webhook } from 'standardwebhooks'
import { formatSecret, generateSecret, type SigningSecret } from '../../src/webhook/index.js'
import { signatureHeaders } from '../../src/webhook/sign-request.js'

export interface SignedRequest {
  headers: Record<string, string>
  body: Buffer
}

export const nowS = () => Math.floor(Date.now() / 1000)

const eventHeaders = {
  'content-type': 'application/json',
  'sagapost-event-type': 'order.placed',
  'sagapost-attempt': '2',
  'sagapost-correlation-id': 'checkout-4711',
}

/** A delivery as the worker sends it, signed by our own code. */
export function signRequest({
  secrets = [generateSecret()],
  body = '{"order": 7, "total": "12.50 €"}',
  webhookId = 'evt_42',
  timestampS = nowS(),
  headers = eventHeaders,
}: {
  secrets?: readonly SigningSecret[]
  body?: string | Buffer
  webhookId?: string
  timestampS?: number
  headers?: Record<string, string>
} = {}): SignedRequest {
  const bytes = Buffer.from(body)
  return {
    headers: { ...headers, ...signatureHeaders({ webhookId, timestampS, body: bytes, secrets }) },
    body: bytes,
  }
}

/** The same by the independent package. */
export function signIndependently(secret: SigningSecret, body = '{"order": 7}'): SignedRequest {
  const at = new Date()
  return {
    headers: {
      ...eventHeaders,
      'webhook-id': 'evt_43',
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(formatSecret(secret)).sign('evt_43', at, body),
    },
    body: Buffer.from(body),
  }
}

export const challengeBody = JSON.stringify({
  type: 'sagapost.subscription.verification',
  challenge: 'Jx2-challenge',
})
