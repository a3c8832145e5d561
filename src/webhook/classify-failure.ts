import type { TLSSocket } from 'node:tls'
import { errors } from 'undici'
import { type DeliveryErrorCode, DeliveryFailure } from './delivery-errors.js'

/** A TCP connection that could not be made. Of several addresses the first one's error counts. */
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
  // Node sets this if and only if the certificate was the reason.
  const code = socket.authorizationError ? 'tls_invalid_certificate' : 'tls_failed'
  return new DeliveryFailure(code, { cause: error })
}

/** What broke an exchange on a connection that stood, before or after the response's headers. */
export function exchangeErrorCode(error: unknown, afterHeaders: boolean): DeliveryErrorCode {
  if (error instanceof DeliveryFailure) return error.errorCode
  if (error instanceof errors.HTTPParserError) {
    // The parser's word for a connection that ends within a chunk.
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
      // A body that ended early; before the headers' end, headers that contradict each other.
      return afterHeaders ? 'connection_reset' : 'invalid_response'
    case 'UND_ERR_DESTROYED':
    case 'UND_ERR_CLOSED':
      return 'aborted'
    case 'UND_ERR_SOCKET':
      // undici's words for a response that nobody asked for: 101, an unasked 100, bytes after the end.
      return /^bad (response|upgrade)/.test(message) ? 'invalid_response' : 'connection_reset'
    default:
      // With TLS 1.3 the receiver's refusal arrives after our side of the handshake is done.
      if (code.startsWith('ERR_SSL_')) return 'tls_failed'
      return 'connection_reset'
  }
}
