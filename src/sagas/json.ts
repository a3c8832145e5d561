import { isSealed, SEALED_KEY } from './data-box.js'

/** A value's type after a round trip through the database: a Date is a string, a method is gone. */
export type Stored<T> = unknown extends T
  ? T
  : T extends { toJSON(): infer Json }
    ? Stored<Json>
    : T extends string | number | boolean | null | undefined
      ? T
      : // biome-ignore lint/complexity/noBannedTypes: any function at all
        T extends Function | symbol | bigint
        ? never
        : { [Key in keyof T]: Stored<T[Key]> }

/** Saga data is for decisions, not for files: a step stores those elsewhere and returns their location. */
const JSON_CHARS_MAX = 1_048_576

/** PostgreSQL parses JSON recursively, in a stack of 2 MB. */
const JSON_DEPTH_MAX = 500

/** Of what jsonb refuses, JSON.stringify escapes NUL and lone surrogates. */
const REFUSED_ESCAPE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i

/**
 * Encodes a value as JSON that the database accepts, or throws a TypeError with the reason. Undefined stays undefined.
 */
export function encodeJson(value: unknown): string | undefined {
  // The type of JSON.stringify omits that it returns undefined for undefined, functions and symbols.
  const text = JSON.stringify(value) as string | undefined
  if (text === undefined) {
    if (value === undefined) return undefined
    throw new TypeError(`a ${typeof value} cannot be kept as JSON`)
  }
  if (text.length > JSON_CHARS_MAX) {
    throw new TypeError(`${text.length} characters of JSON are more than the ${JSON_CHARS_MAX} that are kept`)
  }
  if (REFUSED_ESCAPE.test(text))
    throw new TypeError('text with U+0000 or half a surrogate pair cannot be kept')
  // Readers would take it for encrypted data. jsonb may reorder its keys, so the position of the name does not matter.
  if (text.includes(SEALED_KEY) && isSealed(JSON.parse(text))) {
    throw new TypeError(`an object with the name ${SEALED_KEY} cannot be kept`)
  }
  if (depthOf(text) > JSON_DEPTH_MAX) throw new TypeError(`it is nested deeper than ${JSON_DEPTH_MAX}`)
  return text
}

export function decodeJson(text: string | null | undefined): unknown {
  return text === null || text === undefined ? undefined : JSON.parse(text)
}

function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (quoted) {
      if (char === '\\') at++
      else if (char === '"') quoted = false
    } else if (char === '"') quoted = true
    else if (char === '[' || char === '{') deepest = Math.max(deepest, ++depth)
    else if (char === ']' || char === '}') depth--
  }
  return deepest
}
