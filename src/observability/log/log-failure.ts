import type { Logger } from 'pino'
import { outageOf } from '../../database/index.js'

/** A part's failure, unless it is one of the whole database: all parts meet that, and the watch tells of it once. */
export function logFailure(
  log: Logger,
  error: unknown,
  message: string,
  fields: Record<string, unknown> = {},
): void {
  log[outageOf(error) ? 'debug' : 'error']({ err: error, ...fields }, message)
}
