import type pg from 'pg'
import { type ErrorCode, errorCatalogue } from '../errors/index.js'

const codeByConstraint = new Map<string, ErrorCode>(
  Object.entries(errorCatalogue).flatMap(([code, entry]) =>
    ('constraints' in entry ? entry.constraints : []).map((name) => [name, code as ErrorCode] as const),
  ),
)

/** A partition's index is named after the parent's, with its range behind (migrations/0008). */
const PARTITION_SUFFIX = /_from_\d+$/

const PERMISSION_DENIED = '42501'
const CHECK_VIOLATION = '23514'
const NOT_NULL_VIOLATION = '23502'
const STRING_TOO_LONG = '22001'
const INVALID_TEXT = '22P02'

/**
 * The catalogue's code for a statement that the database refused: a guard's trigger or a constraint, by its
 * name. Undefined for anything that no rule of ours has refused.
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
      // By the function of the server that refused it: the message is in the server's language.
      return error.routine?.startsWith('json_') ? 'payload_invalid' : undefined
  }
  // PostgreSQL names no constraint when a row finds no partition.
  if (error.code === CHECK_VIOLATION && error.schema === 'sagapost') return 'partition_missing'
  return undefined
}

/** A schema, table, function or column that is not there. */
const MISSING = /^(3F000|42P01|42883|42703)$/

/** The database was never migrated, or by an older release. Before the first migration the roles are missing, too. */
export function isSchemaMissing(error: unknown): boolean {
  if (!isDatabaseError(error)) return false
  return MISSING.test(error.code ?? '') || /^role ".*" does not exist$/.test(error.message)
}

/** SQLSTATE of a lock that was not had within lock_timeout. */
export const LOCK_TIMED_OUT = '55P03'

/**
 * A rule of ours, a value that does not fit, a limit of PostgreSQL, a trigger of the operator's own, a damaged page or
 * index: the same statement is refused again. What passes by itself (a lost connection, a deadlock, a full disk, a
 * time-out), or would refuse every statement alike (a right that is missing), is none.
 */
const REFUSAL = /^(SP|22|23|54|P0|XX001|XX002)/

export function isRefusal(error: unknown): error is pg.DatabaseError {
  return isDatabaseError(error) && REFUSAL.test(error.code ?? '')
}

/** By its fields, not its class: an application that publishes may have a `pg` of its own. */
export function isDatabaseError(error: unknown): error is pg.DatabaseError {
  return error instanceof Error && 'severity' in error && 'code' in error && 'routine' in error
}
