import type { ErrorCode } from './catalogue.js'

/**
 * An error that a person can act on: a stable code and one clear line. The command line prints it without
 * a stack trace, the API answers with it; anything else that is thrown is a bug of ours.
 */
export class SagapostError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SagapostError'
    this.code = code
  }
}
