import { isUtf8 } from 'node:buffer'
import { refuse, refuseField } from './problem.js'
import { atOnce, type Reading } from './read-in-turns.js'
import { JsonSyntaxError, JsonTooLargeError, type Member, type Span, scanObject } from './scan-json.js'

/** The body as text, exactly as it came: JSON is UTF-8 (RFC 8259), and other bytes are refused, never replaced. */
export function readText(body: Buffer): string {
  if (!isUtf8(body)) throw refuse('request_malformed', 'the body is not UTF-8')
  return body.toString('utf8')
}

/** The members of the object that the body is. A name twice is refused: readers differ in which one counts. */
export function* readMembers(text: string): Reading<Member[]> {
  const members = yield* scan(text)
  if (members === null) throw refuse('request_invalid', 'the body must be a JSON object')
  refuseRepeated(members, '')
  return members
}

/** The value of a body whose own bytes do not matter. An empty one is no body. */
export function readValue(body: Buffer): unknown {
  if (body.length === 0) return undefined
  const text = readText(body)
  // One level below as well (headers): no call takes deeper objects.
  for (const member of atOnce(readMembers(text))) {
    refuseRepeated(atOnce(scan(text, member)) ?? [], `${member.name}.`)
  }
  return JSON.parse(text)
}

function refuseRepeated(members: readonly Member[], prefix: string): void {
  const names = new Set<string>()
  for (const { name } of members) {
    if (names.has(name)) throw refuseField('request_invalid', prefix + name, 'is there twice')
    // zod drops it from a record without a word.
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
