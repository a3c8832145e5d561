/** Why a request was refused. Codes are stable: programs may branch on them. */
export type WebhookErrorCode =
  /** One of webhook-id, webhook-timestamp, webhook-signature is missing or comes more than once. */
  | 'missing_headers'
  /** webhook-id contains a full stop or a space. */
  | 'bad_id'
  /** webhook-timestamp is no number of seconds. */
  | 'bad_timestamp'
  /** Signed too long ago, or in the future: an old request may be replayed, or a clock is wrong. */
  | 'timestamp_out_of_range'
  /** No signature fits any of the secrets: another secret, or something was changed on the way. */
  | 'no_matching_signature'
  /** Signed, but not JSON. */
  | 'bad_payload'
  /** The receiver's own: what it was given as a secret is none. */
  | 'bad_secret'
  /** The receiver's own: something before it has read the body and kept no bytes of it. */
  | 'body_consumed'

export class WebhookVerificationError extends Error {
  readonly code: WebhookErrorCode

  constructor(code: WebhookErrorCode, message: string) {
    super(message)
    this.name = 'WebhookVerificationError'
    this.code = code
  }
}
