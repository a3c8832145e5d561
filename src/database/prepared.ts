import { createHash } from 'node:crypto'
import { RoleClient } from './role-client.js'

const names = new Map<string, string>()

/**
 * Marks a statement that a part runs again and again, so that a connection parses and plans it once. Only for statements
 * whose one plan fits all values: docs/internals/hot-statements.md#named-statements.
 */
export function prepared(text: string): string {
  names.set(text, `sagapost_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`)
  return text
}

export const isPrepared = (text: string): boolean => names.has(text)

/** Sends the statement unnamed from now on; connections drop their prepared copy when they close. */
export const forgetPrepared = (text: string): boolean => names.delete(text)

/** Sends marked statements as named prepared statements, and all others unchanged. */
export class PreparingClient extends RoleClient {
  // biome-ignore lint/suspicious/noExplicitAny: pg.Client's own overloads; all but one call form are passed on.
  override query(statement: any, values?: any, callback?: any): any {
    const name = names.get(statement)
    return name === undefined
      ? super.query(statement, values, callback)
      : super.query({ name, text: statement, values }, callback)
  }
}
