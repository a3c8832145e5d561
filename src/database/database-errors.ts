import type pg from 'pg'
import { type ErrorCode, errorCatalogue } from '../errors/index.js'

const codeByConstraint = new Map<string, ErrorCode>(
  Object.entries(errorCatalogue).flatMap(([code, entry]) =>
    ('constraints' in entry ? entry.constraints : []).map((name) => [name, code as ErrorCode] as const),
  ),
)

/** A partition's index has its parent's name with the range appended (migrations/0008). */
const PARTITION_SUFFIX = /_from_\d+$/

const PERMISSION_DENIED = '42501'
const CHECK_VIOLATION = '23514'
const NOT_NULL_VIOLATION = '23502'
const STRING_TOO_LONG = '22001'
const INVALID_TEXT = '22P02'

/**
 * Returns the error code for a refusal by a guard: a trigger or a constraint, by its name. Undefined when no guard of
 * ours refused the statement.
 */
export function databaseErrorCode(error: unknown): ErrorCode | undefined {
  if (!isDatabaseError(error)) return undefined
  if (error.constraint !== undefined)
    return codeByConstraint.get(error.constraint.replace(PARTITION_SUFFIX, ''))
  switch (error.code) {
    case PERMISSION_DENIED:
      return 'permission_denied'
    case STRING_TOO_LONG:
      return 'value_too_long'
    case NOT_NULL_VIOLATION:
      return error.column === 'payload' ? 'payload_invalid' : undefined
    case INVALID_TEXT:
      // Identified by the server's function, because the message is in the server's language.
      return error.routine?.startsWith('json_') ? 'payload_invalid' : undefined
  }
  // PostgreSQL names no constraint when a row has no partition.
  if (error.code === CHECK_VIOLATION && error.schema === 'sagapost') return 'partition_missing'
  return undefined
}

/** A missing schema, table, function or column. */
const MISSING = /^(3F000|42P01|42883|42703)$/

/**
 * True when the database was never migrated, or only by an older release. Before the first migration the roles are
 * missing as well.
 */
export function isSchemaMissing(error: unknown): boolean {
  if (!isDatabaseError(error)) return false
  return MISSING.test(error.code ?? '') || /^role ".*" does not exist$/.test(error.message)
}

/** SQLSTATE of a lock that was not granted within lock_timeout. */
export const LOCK_TIMED_OUT = '55P03'

/**
 * Errors that recur when the statement is repeated: a guard, an invalid value, a limit of PostgreSQL, an operator's own
 * trigger, a damaged page or index. Not among them: what passes (a lost connection, a deadlock, a full disk, a
 * time-out), and a missing right, which would refuse every statement.
 */
const REFUSAL = /^(SP|22|23|54|P0|XX001|XX002)/

export function isRefusal(error: unknown): error is pg.DatabaseError {
  return isDatabaseError(error) && REFUSAL.test(error.code ?? '')
}

/** Checks fields, not the class: an application that publishes may use its own copy of `pg`. */
export function isDatabaseError(error: unknown): error is pg.DatabaseError {
  return error instanceof Error && 'severity' in error && 'code' in error && 'routine' in error
}
