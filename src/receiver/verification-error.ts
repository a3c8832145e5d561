/** Why a request was refused. Codes are stable: programs may branch on them. */
export type WebhookErrorCode =
  /** One of webhook-id, webhook-timestamp, webhook-signature is missing or comes more than once. */
  | 'missing_headers'
  /** webhook-id contains a full stop or a space. */
  | 'bad_id'
  /** webhook-timestamp is not a number of seconds. */
  | 'bad_timestamp'
  /** Signed too long ago or in the future: a replayed request, or a wrong clock. */
  | 'timestamp_out_of_range'
  /** No signature matches any secret: the secret differs, or the request was modified. */
  | 'no_matching_signature'
  /** Signed, but not JSON. */
  | 'bad_payload'
  /** An error of the receiver: the configured secret is invalid. */
  | 'bad_secret'
  /** An error of the receiver: earlier middleware consumed the body without keeping its bytes. */
  | 'body_consumed'

export class WebhookVerificationError extends Error {
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}
