import pg from 'pg'
import { databaseErrorCode } from '../../src/database/index.js'
import type { ErrorCode } from '../../src/errors/index.js'

export interface Refusal {
  code: ErrorCode | undefined
  sqlState: string | undefined
  constraint: string | undefined
}

/** How the database refused the statement, or `accepted`. Anything but a refusal by the database is thrown. */
export async function outcomeOf(statement: Promise<unknown>): Promise<'accepted' | Refusal> {
  try {
    await statement
    return 'accepted'
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    return {
      code: databaseErrorCode(error),
      sqlState: error.code,
      constraint: error.constraint,
    }
  }
}

/** The catalogue's code of the refusal, `accepted`, or the SQLSTATE of an error that no rule of ours made. */
export async function codeOf(statement: Promise<unknown>): Promise<string> {
  const outcome = await outcomeOf(statement)
  return outcome === 'accepted' ? outcome : (outcome.code ?? `SQLSTATE ${outcome.sqlState}`)
}
