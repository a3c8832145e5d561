import { PIECE_CHARACTERS, type Reading } from './read-in-turns.js'

/** A range of the text: from `start` up to but excluding `end`. */
export interface Span {
  start: number
  end: number
}

export interface Member extends Span {
  name: string
}

/** The position and reason of a syntax error (RFC 8259). */
export class JsonSyntaxError extends Error {
  readonly at: number

  constructor(what: string, at: number) {
    super(`${what} at character ${at}`)
    this.at = at
  }
}

/** Thrown for text that may be JSON but would take too much memory or time. */
export class JsonTooLargeError extends Error {}

/**
 * Finds the positions of the values in a JSON text without parsing them, so that the payload of an event is stored byte
 * for byte. Accepts exactly what JSON.parse accepts, within DEPTH_MAX and RUN_MAX. Without recursion, so that depth uses
 * no stack. Each scan pauses after a piece of the text (read-in-turns.ts).
 */

/**
 * Further members are validated but not kept: no call accepts as many, so one of these is unknown or repeated. A body of
 * 16 MiB produced 300 MB of them.
 */
const MEMBERS_MAX = 1_000
/** Far more than a payload may have, so that one invalid item does not refuse its batch. */
const DEPTH_MAX = 20_000
/** The maximum run of spaces or number characters, the default size of a payload. Runs are scanned in one piece. */
const RUN_MAX = 1024 * 1024

const QUOTE = 0x22
const COMMA = 0x2c
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SPACE = 0x20

/** The members of the object in the text; null for any other value. */
export function* scanObject(text: string, within: Span = whole(text)): Reading<Member[] | null> {
  let at = skipSpace(text, within.start)
  if (text.charCodeAt(at) !== OPEN_OBJECT) {
    requireEnd(text, yield* skipValue(text, at), within.end)
    return null
  }
  const members: Member[] = []
  at = skipSpace(text, at + 1)
  let pauseAt = at + PIECE_CHARACTERS
  if (text.charCodeAt(at) === CLOSE_OBJECT) at += 1
  else {
    for (;;) {
      let nameEnd = skipString(text, at)
      if (nameEnd < 0) nameEnd = yield* skipLongString(text, ~nameEnd)
      const name = members.length < MEMBERS_MAX ? (JSON.parse(text.slice(at, nameEnd)) as string) : ''
      const start = skipColon(text, nameEnd)
      const end = yield* skipValue(text, start)
      if (members.length < MEMBERS_MAX) members.push({ name, start, end })
      at = skipSpace(text, end)
      if (text.charCodeAt(at) === CLOSE_OBJECT) break
      if (text.charCodeAt(at) !== COMMA) throw unexpected(text, at)
      at = skipSpace(text, at + 1)
      if (at < pauseAt) continue
      yield
      pauseAt = at + PIECE_CHARACTERS
    }
    at += 1
  }
  requireEnd(text, at, within.end)
  return members
}

/** The first items of the array in the range, which must be valid JSON; null for any other value. */
export function* scanArray(text: string, within: Span, itemsMax: number): Reading<Span[] | null> {
  if (text.charCodeAt(within.start) !== OPEN_LIST) return null
  const items: Span[] = []
  let at = skipSpace(text, within.start + 1)
  let pauseAt = at + PIECE_CHARACTERS
  while (text.charCodeAt(at) !== CLOSE_LIST && items.length < itemsMax) {
    const end = yield* skipValue(text, at)
    items.push({ start: at, end })
    at = skipSpace(text, end)
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1)
    if (at < pauseAt) continue
    yield
    pauseAt = at + PIECE_CHARACTERS
  }
  return items
}

function whole(text: string): Span {
  return { start: 0, end: text.length }
}

function requireEnd(text: string, at: number, end: number): void {
  const last = skipSpace(text, at)
  if (last < end) throw unexpected(text, last)
}

/** The end of the value that begins at `at`. */
function* skipValue(text: string, at: number): Reading<number> {
  // The closing characters of the enclosing containers, outermost first.
  const open: number[] = []
  let hasName = false
  let pauseAt = at + PIECE_CHARACTERS
  for (;;) {
    if (at >= pauseAt) {
      yield
      pauseAt = at + PIECE_CHARACTERS
    }
    if (hasName) {
      at = skipString(text, at)
      if (at < 0) at = yield* skipLongString(text, ~at)
      at = skipColon(text, at)
    }
    const first = text.charCodeAt(at)
    if (first === OPEN_OBJECT || first === OPEN_LIST) {
      const close = first === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST
      if (open.length >= DEPTH_MAX) throw new JsonTooLargeError(`is nested deeper than ${DEPTH_MAX} levels`)
      at = skipSpace(text, at + 1)
      if (text.charCodeAt(at) === close) at += 1
      else {
        open.push(close)
        hasName = first === OPEN_OBJECT
        continue
      }
    } else if (first === QUOTE) {
      at = skipString(text, at)
      if (at < 0) at = yield* skipLongString(text, ~at)
    } else at = skipLiteral(text, at)

    // After a value: close its container, or continue with the next value.
    for (;;) {
      const close = open.at(-1)
      if (close === undefined) return at
      at = skipSpace(text, at)
      const code = text.charCodeAt(at)
      if (code === COMMA) {
        at = skipSpace(text, at + 1)
        hasName = close === CLOSE_OBJECT
        break
      }
      if (code !== close) throw unexpected(text, at)
      open.pop()
      at += 1
    }
  }
}

/** The colon after a name, and whitespace up to the value. */
function skipColon(text: string, at: number): number {
  const colon = skipSpace(text, at)
  if (text.charCodeAt(colon) !== COLON) throw unexpected(text, colon)
  return skipSpace(text, colon + 1)
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y

function skipLiteral(text: string, at: number): number {
  const code = text.charCodeAt(at)
  // Most numbers are integers; the regular expression takes three times as long.
  if (code > ZERO && code <= NINE) {
    const end = at + RUN_MAX
    let next = at + 1
    while (next < end && isDigit(text.charCodeAt(next))) next += 1
    const behind = text.charCodeAt(next)
    if (behind === COMMA || behind === CLOSE_LIST || behind === CLOSE_OBJECT) return next
  }
  for (const pattern of [NUMBER, WORD]) {
    pattern.lastIndex = at
    if (!pattern.test(text)) continue
    if (pattern.lastIndex - at > RUN_MAX)
      throw new JsonTooLargeError(`has a number of more than ${RUN_MAX} characters`)
    return pattern.lastIndex
  }
  throw unexpected(text, at)
}

/** The position after the string, or for a string longer than a piece, the complement of where to continue. */
function skipString(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) throw unexpected(text, at)
  return skipCharacters(text, at + 1)
}

function* skipLongString(text: string, at: number): Reading<number> {
  for (let end = ~at; ; ) {
    if (end >= 0) return end
    yield
    end = skipCharacters(text, ~end)
  }
}

const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((sign) => sign.charCodeAt(0)))
const UNICODE_ESCAPE = /\\u[0-9A-Fa-f]{4}/y

function skipEscape(text: string, at: number): number {
  if (SIMPLE_ESCAPES.has(text.charCodeAt(at + 1))) return at + 2
  UNICODE_ESCAPE.lastIndex = at
  if (!UNICODE_ESCAPE.test(text)) throw new JsonSyntaxError('an unknown escape sequence in a string', at)
  return UNICODE_ESCAPE.lastIndex
}

function skipCharacters(text: string, at: number): number {
  const end = Math.min(text.length, at + PIECE_CHARACTERS)
  let next = at
  for (; next < end; next++) {
    const code = text.charCodeAt(next)
    if (code === QUOTE) return next + 1
    if (code < SPACE) throw new JsonSyntaxError('a control character in a string', next)
    if (code === BACKSLASH) next = skipEscape(text, next) - 1
  }
  if (next >= text.length) throw new JsonSyntaxError('an unterminated string', at - 1)
  return ~next
}

function skipSpace(text: string, at: number): number {
  const end = at + RUN_MAX
  for (; at <= end; at++) {
    const code = text.charCodeAt(at)
    if (code > SPACE || Number.isNaN(code)) return at
    if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
  }
  throw new JsonTooLargeError(`has more than ${RUN_MAX} spaces in a row`)
}

function unexpected(text: string, at: number): JsonSyntaxError {
  const code = text.codePointAt(at)
  if (code === undefined) return new JsonSyntaxError('unexpected end of text', at)
  return new JsonSyntaxError(`an unexpected ${describe(code)}`, at)
}

function describe(code: number): string {
  const printable = code > SPACE && code < 0x7f
  return printable
    ? `"${String.fromCodePoint(code)}"`
    : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
