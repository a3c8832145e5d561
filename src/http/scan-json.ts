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

/**
 * Finds where the values of a JSON text stand, without making values of them: the payload of an event is stored as
 * the very bytes that came. Takes exactly what JSON.parse takes. No recursion, so that depth costs no stack.
 */

/**
 * Of an object with more members the rest is checked, not kept: no call takes as many, so that one of these is unknown
 * or there twice. A body of 16 MiB made 300 MB of them.
 */
const MEMBERS_MAX = 1_000

/** The members of the object that the text is; null when the text is some other value. */
export function scanObject(text: string, within: Span = whole(text)): Member[] | null {
  let at = skipSpace(text, within.start)
  if (text[at] !== '{') {
    scanToEnd(text, at, within.end)
    return null
  }
  const members: Member[] = []
  at = skipSpace(text, at + 1)
  if (text[at] === '}') at += 1
  else {
    for (;;) {
      const nameEnd = skipString(text, at)
      const name = JSON.parse(text.slice(at, nameEnd)) as string
      at = skipSpace(text, nameEnd)
      if (text[at] !== ':') throw unexpected(text, at)
      const start = skipSpace(text, at + 1)
      const end = skipValue(text, start)
      if (members.length < MEMBERS_MAX) members.push({ name, start, end })
      at = skipSpace(text, end)
      if (text[at] === '}') break
      if (text[at] !== ',') throw unexpected(text, at)
      at = skipSpace(text, at + 1)
    }
    at += 1
  }
  requireEnd(text, at, within.end)
  return members
}

/** The first items of the array at the span, which must be JSON already; null when it is some other value. */
export function scanArray(text: string, within: Span, itemsMax: number): Span[] | null {
  if (text[within.start] !== '[') return null
  const items: Span[] = []
  let at = skipSpace(text, within.start + 1)
  while (text[at] !== ']' && items.length < itemsMax) {
    const end = skipValue(text, at)
    items.push({ start: at, end })
    at = skipSpace(text, end)
    if (text[at] === ',') at = skipSpace(text, at + 1)
  }
  return items
}

function whole(text: string): Span {
  return { start: 0, end: text.length }
}

function scanToEnd(text: string, at: number, end: number): void {
  requireEnd(text, skipValue(text, at), end)
}

function requireEnd(text: string, at: number, end: number): void {
  const last = skipSpace(text, at)
  if (last < end) throw unexpected(text, last)
}

/** Where the value that begins at `at` ends. */
function skipValue(text: string, at: number): number {
  // The containers that are open around the position, from the outside in.
  const open: ('{' | '[')[] = []
  for (;;) {
    const first = text[at]
    if (first === '{' || first === '[') {
      const next = skipSpace(text, at + 1)
      if (text[next] === (first === '{' ? '}' : ']')) at = next + 1
      else {
        open.push(first)
        at = first === '{' ? skipName(text, next) : next
        continue
      }
    } else at = skipScalar(text, at)

    // A value has ended: close what it ends, or go on to the next one.
    for (;;) {
      const container = open.at(-1)
      if (container === undefined) return at
      at = skipSpace(text, at)
      if (text[at] === ',') {
        at = skipSpace(text, at + 1)
        if (container === '{') at = skipName(text, at)
        break
      }
      if (text[at] !== (container === '{' ? '}' : ']')) throw unexpected(text, at)
      open.pop()
      at += 1
    }
  }
}

/** A name, its colon, and the space up to the value. */
function skipName(text: string, at: number): number {
  const colon = skipSpace(text, skipString(text, at))
  if (text[colon] !== ':') throw unexpected(text, colon)
  return skipSpace(text, colon + 1)
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LITERAL = /true|false|null/y

function skipScalar(text: string, at: number): number {
  if (text[at] === '"') return skipString(text, at)
  for (const pattern of [NUMBER, LITERAL]) {
    pattern.lastIndex = at
    if (pattern.test(text)) return pattern.lastIndex
  }
  throw unexpected(text, at)
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTABLE = 0x20
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})/y

function skipString(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) throw unexpected(text, at)
  for (let next = at + 1; next < text.length; next++) {
    const code = text.charCodeAt(next)
    if (code === QUOTE) return next + 1
    if (code < FIRST_PRINTABLE) throw new JsonSyntaxError('a control character in a string', next)
    if (code === BACKSLASH) {
      ESCAPE.lastIndex = next
      if (!ESCAPE.test(text)) throw new JsonSyntaxError('an unknown escape in a string', next)
      next = ESCAPE.lastIndex - 1
    }
  }
  throw new JsonSyntaxError('a string without an end', at)
}

function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at += 1
  }
}

function unexpected(text: string, at: number): JsonSyntaxError {
  const code = text.codePointAt(at)
  if (code === undefined) return new JsonSyntaxError('the text ends too early', at)
  return new JsonSyntaxError(`an unexpected ${describe(code)}`, at)
}

function describe(code: number): string {
  const printable = code > FIRST_PRINTABLE && code < 0x7f
  return printable
    ? `"${String.fromCodePoint(code)}"`
    : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
}
