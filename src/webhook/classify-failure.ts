import type { TLSSocket } from 'node:tls'
import { errors } from 'undici'
import { type DeliveryErrorCode, DeliveryFailure } from './delivery-errors.js'

/** A failed TCP connection. Of several addresses, the first one's error counts. */
export function connectFailure(error: Error): DeliveryFailure {
  return new DeliveryFailure(connectCode((error as NodeJS.ErrnoException).code), { cause: error })
}

function connectCode(code: string | undefined): DeliveryErrorCode {
  switch (code) {
    case 'ECONNREFUSED':
      return 'connection_refused'
    case 'ECONNRESET':
      return 'connection_reset'
    case 'ETIMEDOUT':
      return 'timeout'
    default:
      return 'connection_failed'
  }
}

export function handshakeFailure(error: Error, socket: TLSSocket): DeliveryFailure {
  // Node sets this if and only if the certificate was the cause.
  const code = socket.authorizationError ? 'tls_invalid_certificate' : 'tls_failed'
  return new DeliveryFailure(code, { cause: error })
}

/** What broke an exchange on an established connection, before or after the response's headers. */
export function exchangeErrorCode(error: unknown, afterHeaders: boolean): DeliveryErrorCode {
  if (error instanceof DeliveryFailure) return error.errorCode
  if (error instanceof errors.HTTPParserError) {
    // The parser reports a connection that ends within a chunk this way.
    return /invalid EOF state/i.test(error.message) ? 'connection_reset' : 'invalid_response'
  }
  const { code = '', message } = error as NodeJS.ErrnoException
  switch (code) {
    case 'UND_ERR_INVALID_ARG':
    case 'UND_ERR_NOT_SUPPORTED':
      return 'invalid_headers'
    case 'UND_ERR_HEADERS_OVERFLOW':
      return 'invalid_response'
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      // A body that ended early; or, before the end of the headers, contradictory headers.
      return afterHeaders ? 'connection_reset' : 'invalid_response'
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return 'aborted'
    case 'UND_ERR_SOCKET':
      // undici's messages for an unrequested response: 101, an unsolicited 100, or bytes after the end.
      return /^bad (response|upgrade)/.test(message) ? 'invalid_response' : 'connection_reset'
    default:
      // With TLS 1.3, the receiver's refusal arrives after the handshake has ended on this side.
      if (code.startsWith('ERR_SSL_')) return 'tls_failed'
      return 'connection_reset'
  }
}
