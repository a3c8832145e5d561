import type { ErrorCode } from '../errors/index.js'
import { isDatabaseError } from './database-errors.js'

/**
 * Why the database serves no requests, or takes no writes, right now. The condition passes, with or without an
 * operator.
 */
export type Outage = Extract<
  ErrorCode,
  | 'database_unreachable'
  | 'database_read_only'
  | 'database_full'
  | 'database_timed_out'
  | 'database_locks_exhausted'
>

const READ_ONLY = '25006'
const DISK_FULL = '53100'
const OUT_OF_MEMORY = '53200'
/** The hint names the setting in every language; without the hint, the server ran out of memory. */
const LOCK_TABLE_HINT = 'max_locks_per_transaction'
/** Connections, resources, shutdown, failover, a failing file system, a refused login or database. */
const AWAY_STATES = /^(08|53|57P|58|28|3D)/
/** A limit that the operator set, on temporary files for example: the same statement fails again. */
const LIMIT_EXCEEDED = '53400'
/** `pg`'s messages, without a code, for a connection that broke or could not be opened in time. */
const AWAY_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|connection error and is not queryable|Client was closed/
const READ_TIMEOUT = 'Query read timeout'
const NETWORK_CODES =
  /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ENOENT|EMFILE)/

/** Undefined for an error that does not concern the database as a whole. */
export function outageOf(error: unknown): Outage | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  const state = typeof code === 'string' ? code : ''
  if (isDatabaseError(error)) {
    if (state === READ_ONLY) return 'database_read_only'
    if (state === DISK_FULL) return 'database_full'
    if (state === OUT_OF_MEMORY && error.hint?.includes(LOCK_TABLE_HINT)) return 'database_locks_exhausted'
    return AWAY_STATES.test(state) && state !== LIMIT_EXCEEDED ? 'database_unreachable' : undefined
  }
  if (isReadTimeout(error)) return 'database_timed_out'
  const isAway =
    error instanceof AggregateError ||
    AWAY_MESSAGES.test(String(message)) ||
    (NETWORK_CODES.test(state) && 'syscall' in (error as object))
  return isAway ? 'database_unreachable' : undefined
}

/** The pool has been stopped. */
export function isPoolEnded(error: unknown): boolean {
  return error instanceof Error && error.message.includes('after calling end')
}

/** The client stopped waiting; the server may still be working. */
export function isReadTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === READ_TIMEOUT
}
