import { PIECE_CHARACTERS, type Reading } from './read-in-turns.js'

/** A piece of the text: from `start` up to, and without, `end`. */
export interface Span {
  start: number
  end: number
}

export interface Member extends Span {
  name: string
}

/** Where and why a text is not JSON (RFC 8259). */
export class JsonSyntaxError extends Error {
  readonly at: number

  constructor(what: string, at: number) {
    super(`${what} at character ${at}`)
    this.at = at
  }
}

/** It may be JSON, and is not read further: it would take more memory or time than others can spare. */
export class JsonTooLargeError extends Error {}

/**
 * Finds where the values of a JSON text stand, without making values of them: the payload of an event is stored as
 * the very bytes that came. Takes exactly what JSON.parse takes, within DEPTH_MAX and RUN_MAX. No recursion, so that depth
 * costs no stack. Each reading pauses after a piece of the text (take-turns.ts).
 */

/**
 * Of an object with more members the rest is checked, not kept: no call takes as many, so that one of these is unknown
 * or there twice. A body of 16 MiB made 300 MB of them.
 */
const MEMBERS_MAX = 1_000
/** Far more than a payload may have, so that one bad item of a batch is refused by itself. */
const DEPTH_MAX = 20_000
/** So many spaces, or characters of a number, in a row: as many as the default lets a payload have. They are read in one go. */
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

/** The members of the object that the text is; null when the text is some other value. */
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

/** The first items of the array at the span, which must be JSON already; null when it is some other value. */
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

/** Where the value that begins at `at` ends. */
function* skipValue(text: string, at: number): Reading<number> {
  // The signs that close the containers around the position, from the outside in.
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

    // A value has ended: close what it ends, or go on to the next one.
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

/** The colon behind a name, and the space up to the value. */
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
  // Most numbers are whole ones; the expression takes three times as long.
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

/** Behind the string; of one longer than a piece, the complement of where to go on. */
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
