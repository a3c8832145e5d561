import pg from 'pg'

const BIGINT = 20
const JSON_TEXT = 114
const DOUBLE = 701
const TIMESTAMPTZ = 1184
const JSONB = 3802

/** As PostgreSQL writes it: `2026-01-31 08:15:00.123456+00`, the offset with minutes where it has some. */
function parseTime(text: string): Date {
  return new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00'))
}

const parsers = new Map<number, (text: string) => unknown>([
  [BIGINT, String],
  [JSON_TEXT, JSON.parse],
  [DOUBLE, Number],
  [TIMESTAMPTZ, parseTime],
  [JSONB, JSON.parse],
])

/**
 * How our own connections read values. `pg.types` belongs to the whole process: an application that embeds us may read
 * bigint as number, or times as text, and our ids, numbers and times must stay what our code takes them for.
 */
export const valueParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && parsers.get(oid)) ||
    pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
}
