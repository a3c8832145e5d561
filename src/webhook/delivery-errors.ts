/**
 * Every code that a failed attempt can have, in one place; a test compares it with `docs/reference/delivery-errors.md`.
 * `http_<status>` stands for one code per status, such as `http_500`.
 */
export const deliveryErrorCodes = {
  'http_<status>': 'The receiver answered, and not with 2xx; redirects are not followed',
  timeout: 'The exchange, from the lookup to the last byte of the response, did not end in time',
  dns_not_found: 'The host name does not exist or has no address',
  dns_failed: 'The host name could not be looked up just now',
  connection_refused: 'Nothing listens on that address and port',
  connection_reset: 'The connection was closed or reset before the response was complete',
  connection_failed: 'The address could not be reached',
  tls_invalid_certificate:
    'The certificate is expired, is for another name, or is not from a trusted authority',
  tls_failed: 'The TLS handshake failed for another reason than the certificate',
  blocked_address:
    'The host is, or resolves to, an address that is not public and that no operator has allowed',
  invalid_url: 'The callback URL is not an https:// URL without a user name',
  invalid_headers:
    'A header of the request holds what HTTP cannot carry, or is not the subscription’s to set',
  invalid_response: 'What came back is not HTTP/1.1, or its headers are too large',
  secret_unreadable: 'The secret of the subscription could not be decrypted, so nothing was sent',
  payload_too_large:
    'The payload is larger than 16 MiB, from before there was a limit, so it was not read and nothing was sent',
  aborted: 'The worker stopped before the exchange ended',
  subscription_deleted: 'The subscription was deleted before the request was made, so nothing was sent',
  cancelled: 'The delivery was cancelled before the request was made, so nothing was sent',
  lease_expired: 'The workers that took the job were lost again and again before they could report',
} as const

export type DeliveryErrorCode = Exclude<keyof typeof deliveryErrorCodes, 'http_<status>'> | `http_${number}`

/** A failure whose code is known where it occurs. It never leaves this folder: `send` turns it into an outcome. */
export class DeliveryFailure extends Error {
  readonly errorCode: DeliveryErrorCode

  constructor(errorCode: DeliveryErrorCode, options?: ErrorOptions) {
    super(errorCode, options)
    this.name = 'DeliveryFailure'
    this.errorCode = errorCode
  }
}
