import { isUtf8 } from 'node:buffer'
import { refuse, refuseField } from './problem.js'
import { atOnce, type Reading } from './read-in-turns.js'
import { JsonSyntaxError, JsonTooLargeError, type Member, type Span, scanObject } from './scan-json.js'

/** The body as text. JSON is UTF-8 (RFC 8259); invalid bytes are refused, never replaced. */
export function readText(body: Buffer): string {
  if (!isUtf8(body)) throw refuse('request_malformed', 'the body is not UTF-8')
  return body.toString('utf8')
}

/** The members of the JSON object in the body. Duplicate names are refused, as parsers differ on which one counts. */
export function* readMembers(text: string): Reading<Member[]> {
  const members = yield* scan(text)
  if (members === null) throw refuse('request_invalid', 'the body must be a JSON object')
  refuseRepeated(members, '')
  return members
}

/** The parsed value of a body whose exact bytes do not matter. An empty body counts as none. */
export function readValue(body: Buffer): unknown {
  if (body.length === 0) return undefined
  const text = readText(body)
  // Also one level below (headers); no call accepts deeper objects.
  for (const member of atOnce(readMembers(text))) {
    refuseRepeated(atOnce(scan(text, member)) ?? [], `${member.name}.`)
  }
  return JSON.parse(text)
}

function refuseRepeated(members: readonly Member[], prefix: string): void {
  const names = new Set<string>()
  for (const { name } of members) {
    if (names.has(name)) throw refuseField('request_invalid', prefix + name, 'is there twice')
    // zod silently drops it from a record.
    if (name === '__proto__') throw refuseField('request_invalid', prefix + name, 'is not a known field')
    names.add(name)
  }
}

function* scan(text: string, within?: Span): Reading<Member[] | null> {
  try {
    return yield* scanObject(text, within)
  } catch (error) {
    if (error instanceof JsonTooLargeError) throw refuse('request_invalid', `the body ${error.message}`)
    if (error instanceof JsonSyntaxError)
      throw refuse('request_malformed', `the body is not JSON: ${error.message}`)
    throw error
  }
}
