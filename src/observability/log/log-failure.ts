import type { Logger } from 'pino'
import { outageOf } from '../../database/index.js'

/** Logs a part's failure, except an outage of the database, which the watch logs once for all parts. */
export function logFailure(
  log: Logger,
  error: unknown,
  message: string,
  fields: Record<string, unknown> = {},
): void {
  log[outageOf(error) ? 'debug' : 'error']({ err: error, ...fields }, message)
}
