import pg from 'pg'
import { type ErrorCode, errorCatalogue } from '../errors/index.js'

const codeByConstraint = new Map<string, ErrorCode>(
  Object.entries(errorCatalogue).flatMap(([code, entry]) =>
    ('constraints' in entry ? entry.constraints : []).map((name) => [name, code as ErrorCode] as const),
  ),
)

/** A partition's index is named after the parent's, with its range behind (migrations/0006). */
const PARTITION_SUFFIX = /_from_\d+$/

const PERMISSION_DENIED = '42501'
const CHECK_VIOLATION = '23514'

/**
 * The catalogue's code for a statement that the database refused: a guard's trigger or a constraint, by its
 * name. Undefined for anything that no rule of ours has refused.
 */
export function databaseErrorCode(error: unknown): ErrorCode | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  if (error.constraint !== undefined)
    return codeByConstraint.get(error.constraint.replace(PARTITION_SUFFIX, ''))
  if (error.code === PERMISSION_DENIED) return 'permission_denied'
  // PostgreSQL names no constraint when a row finds no partition.
  if (error.code === CHECK_VIOLATION && error.schema === 'sagapost') return 'partition_missing'
  return undefined
}
