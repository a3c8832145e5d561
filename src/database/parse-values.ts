import pg from 'pg'

const BOOLEAN = 16
const BYTES = 17
const BIGINT = 20
const SMALLINT = 21
const INTEGER = 23
const JSON_TEXT = 114
const REAL = 700
const DOUBLE = 701
const INTEGERS = 1007
const TEXTS = 1009
const BIGINTS = 1016
const TIMESTAMPTZ = 1184
const JSONB = 3802

/** PostgreSQL's format: `2026-01-31 08:15:00.123456+00`, the offset with minutes where it has some. */
function parseTime(text: string): Date {
  return new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))
}

/** PostgreSQL's format: `\\x00ff`; behind a pooler a login may use the older format, with escapes. */
function parseBytes(text: string): Buffer {
  if (text.startsWith('\\x')) return Buffer.from(text.slice(2), 'hex')
  const plain = text.replace(/\\(\\|[0-7]{3})/g, (_, escaped: string) =>
    escaped === '\\' ? escaped : String.fromCharCode(Number.parseInt(escaped, 8)),
  )
  return Buffer.from(plain, 'latin1')
}

// Unlike its types say, this is an object that creates parsers.
const { create } = pg.types.arrayParser as unknown as {
  create(text: string, parse: (item: string) => unknown): { parse(): unknown[] }
}

function parseArray(parse: (item: string) => unknown): (text: string) => unknown[] {
  return (text) => create(text, parse).parse()
}

const parsers = new Map<number, (text: string) => unknown>([
  [BOOLEAN, (text) => text === 't'],
  [BYTES, parseBytes],
  [BIGINT, String],
  [SMALLINT, Number],
  [INTEGER, Number],
  [JSON_TEXT, JSON.parse],
  [REAL, Number],
  [DOUBLE, Number],
  [INTEGERS, parseArray(Number)],
  [TEXTS, parseArray(String)],
  [BIGINTS, parseArray(String)],
  [TIMESTAMPTZ, parseTime],
  [JSONB, JSON.parse],
])

/**
 * Parsers of our own connections; all other types stay text. `pg.types` is global to the process: an application that
 * embeds Sagapost may parse bigint as number, or keep times as text, which must not affect our code.
 */
export const valueParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    format === 'binary'
      ? pg.types.getTypeParser(oid, format)
      : (parsers.get(oid) ?? String)) as pg.CustomTypesConfig['getTypeParser'],
}
