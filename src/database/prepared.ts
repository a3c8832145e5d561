import { createHash } from 'node:crypto'
import { RoleClient } from './role-client.js'

const names = new Map<string, string>()

/**
 * Marks a statement that a part repeats: PostgreSQL parses it once per connection and replans it only where that pays.
 * Only for statements whose one plan fits all values: test/schema/plans.test.ts checks the long-term plans of the
 * statements that every delivery uses.
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
