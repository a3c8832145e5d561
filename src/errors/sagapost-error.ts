import type { ErrorCode } from './catalogue.js'

/**
 * An error that the caller can act on: a stable code and one line. The command line prints it without a stack trace,
 * and the API returns it; anything else that is thrown is a bug in Sagapost.
 */
export class SagapostError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SagapostError'
    this.code = code
  }
}
