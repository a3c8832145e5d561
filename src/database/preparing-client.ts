import { createHash } from 'node:crypto'
import pg from 'pg'

/** Statements are constants of the source, so this holds as many names as there are statements. */
const names = new Map<string, string>()

/** Gives every statement with parameters a name, by its text: PostgreSQL keeps it prepared while the connection lasts. */
export class PreparingClient extends pg.Client {
  // biome-ignore lint/suspicious/noExplicitAny: pg.Client's own overloads; all but one shape of call are passed on.
  override query(statement: any, values?: any, callback?: any): any {
    if (typeof statement !== 'string' || !Array.isArray(values)) {
      return super.query(statement, values, callback)
    }
    return super.query({ name: nameOf(statement), text: statement, values }, callback)
  }
}

function nameOf(text: string): string {
  let name = names.get(text)
  if (name === undefined) {
    name = `sagapost_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
    names.set(text, name)
  }
  return name
}
