import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { atOnce } from '../../src/http/read-in-turns.js'
import * as scanner from '../../src/http/scan-json.js'

const { JsonSyntaxError } = scanner
const scanObject = (...given: Parameters<typeof scanner.scanObject>) => atOnce(scanner.scanObject(...given))
const scanArray = (...given: Parameters<typeof scanner.scanArray>) => atOnce(scanner.scanArray(...given))

/** The text's value by our scanner alone: objects and arrays taken apart, scalars given to JSON.parse. */
function readAll(text: string, span = { start: 0, end: text.length }): unknown {
  const members = scanObject(text, span)
  if (members) {
    // defineProperty, as JSON.parse does: an assignment would set the prototype.
    const object = {}
    for (const { name, ...at } of members) {
      Object.defineProperty(object, name, {
        value: readAll(text, at),
        enumerable: true,
        configurable: true,
        writable: true,
      })
    }
    return object
  }
  const trimmed = text.slice(span.start, span.end)
  const start = span.start + trimmed.length - trimmed.trimStart().length
  const items = scanArray(text, { start, end: span.end }, Number.POSITIVE_INFINITY)
  return items ? items.map((at) => readAll(text, at)) : JSON.parse(trimmed)
}

function outcomeOf(read: () => unknown): { value: unknown } | 'refused' {
  try {
    return { value: read() }
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonSyntaxError) return 'refused'
    throw error
  }
}

/** JSON with white space and escapes in odd places. */
const jsonText = fc
  .tuple(fc.json({ maxDepth: 4 }), fc.constantFrom('', ' ', '\n\t', '\r\n  '))
  .map(([json, space]) => json.replaceAll(/[[\]{},:]/g, (sign) => (json.includes('"') ? sign : sign + space)))

const pieces = fc.array(
  fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"payload"',
      '"',
      '\\',
      '\\u0000',
      '\\ud800',
      '\\u12',
      '\\x',
      'true',
      'nul',
    ],
    ...[
      'null',
      '-',
      '0',
      '01',
      '1',
      '.',
      '.5',
      '1e400',
      'E+',
      '-0',
      ' ',
      '\n',
      '\u0000',
      '\u000b',
      '\u00a0',
      '\ufeff',
      'é',
      '😀',
    ],
    ...[
      '"__proto__"',
      'NaN',
      'Infinity',
      "'",
      '//',
      '{"a":1}',
      '[1,2]',
      '{}',
      '[]',
      '"\\n"',
      '\u007f',
      '\u2028',
    ],
  ),
  { maxLength: 12 },
)

/** Strings, good and bad: escapes, characters that must be escaped, halves of surrogate pairs, an end too early. */
const insideStrings = fc
  .array(
    fc.constantFrom(
      ...['a', 'é', '😀', '\ud83d', '\udc00', '\u007f', '\u2028', '\ufeff', '\\n', '\\"', '\\\\', '\\/'],
      ...[
        '\\u00e9',
        '\\ud83d',
        '\\u12',
        '\\uD83G',
        '\\x',
        '\\',
        '\u0000',
        '\u001f',
        '\n',
        '\t',
        '"',
        'x'.repeat(100),
      ],
    ),
    { maxLength: 6 },
  )
  .map((parts) => `{"payload":["${parts.join('')}"]}`)

describe('the JSON scanner', () => {
  it('[O3] reads every JSON text as JSON.parse does', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        expect(outcomeOf(() => readAll(text))).toEqual({ value: JSON.parse(text) })
      }),
      { numRuns: 2_000 },
    )
  })

  it('[O3] takes and refuses exactly what JSON.parse takes and refuses', () => {
    const property = (text: string) => {
      expect(outcomeOf(() => readAll(text))).toEqual(outcomeOf(() => JSON.parse(text)))
    }
    fc.assert(
      fc.property(
        pieces.map((parts) => parts.join('')),
        property,
      ),
      { numRuns: 30_000 },
    )
    fc.assert(fc.property(fc.string({ unit: 'binary' }), property), { numRuns: 2_000 })
    fc.assert(fc.property(insideStrings, property), { numRuns: 20_000 })
    // JSON with one character too many, too few or changed.
    fc.assert(
      fc.property(
        jsonText,
        fc.nat(),
        fc.constantFrom('', '"', ',', '}', ']', '\\', '\u0001', '0'),
        (text, at, other) => {
          const where = at % (text.length + 1)
          property(text.slice(0, where) + other + text.slice(where + 1))
          property(text.slice(0, where) + other + text.slice(where))
        },
      ),
      { numRuns: 5_000 },
    )
  })

  it('[O3] returns the bytes of each member unchanged', () => {
    const payload = '{ "b" : [1e400, "\\u0000\\ud800", 10000000000000000000001],\n"a":1.0 }'
    const text = ` { "type":"x" , "payload" : ${payload} }\n`
    const members = scanObject(text) ?? []
    expect(members.map(({ name }) => name)).toEqual(['type', 'payload'])
    expect(members.map(({ start, end }) => text.slice(start, end))).toEqual(['"x"', payload])
  })

  it('[O3] scans twenty thousand levels without the stack, and no deeper', () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000)
    const text = `{"payload":${deep}}`
    expect(scanObject(text)?.[0]).toEqual({ name: 'payload', start: 11, end: 11 + deep.length })
    expect(() => scanObject(`{"payload":${'['.repeat(20_000)}`)).toThrow('unexpected end of text')
    expect(() => scanObject(`{"payload":${'['.repeat(20_001)}`)).toThrow(scanner.JsonTooLargeError)
  })

  it.each([
    ['spaces', ' ', ''],
    ['line ends', '\r\n', ''],
    ['digits', '1', ''],
    ['digits behind a point', '1', '0.'],
    ['digits of an exponent', '1', '-1e'],
  ])('[O3] scans a million %s in a row, and no further', (_, sign, before) => {
    const run = (length: number) => before + sign.repeat((length - before.length) / sign.length)
    const text = (length: number, behind: string) => `{"payload":${run(length)}${behind}`
    const behind = sign === '1' ? ' }' : '1}'
    const longest = 1024 * 1024
    expect(scanObject(text(longest, behind))?.[0]).toMatchObject({ name: 'payload' })
    expect(() => scanObject(text(longest + 2, behind))).toThrow(scanner.JsonTooLargeError)
    // Refused where the limit is, not at the end of what may be sixteen times as long.
    expect(() => scanObject(text(longest + 2, '!'))).toThrow(scanner.JsonTooLargeError)
  })
})
