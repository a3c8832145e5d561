import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createTable, formatFields, makeVisible } from '../../src/cli/format-table.js'
import { formatAgo, formatState } from '../../src/cli/format-values.js'
import { toJson, withJsonText } from '../../src/cli/to-json.js'

const plain = stripVTControlCharacters

describe('tables', () => {
  it('align columns, and no line is wider than the terminal', () => {
    const format = createTable(['ID', 'NAME', 'WHAT'], 24)
    const text = plain(
      format([
        ['1', 'short', 'x'],
        ['1000', 'longer', 'a text that does not fit'],
      ]),
    )
    expect(text.split('\n')).toEqual(['ID    NAME    WHAT', '1     short   x', '1000  longer  a text th…'])
    expect(plain(format([['2', 'next page', 'y']]))).toBe('2     next page  y')
    const narrow = plain(createTable(['ID', 'NAME', 'WHAT'], 7)([['1000', 'longer', 'x']]))
    for (const line of narrow.split('\n')) expect(line.length).toBeLessThanOrEqual(7)
  })

  it('cut very long cells where there is no terminal', () => {
    const text = plain(createTable(['A', 'B'])([['x'.repeat(500), 'y']]))
    expect(text.split('\n')[1]).toBe(`${'x'.repeat(79)}…  y`)
  })

  it('as --json escape control characters and keep the value', () => {
    const value = { text: 'a\u001b[2J\u007f\u009b31m\u202e\u2028\u{e0001}ü日本🎉' }
    const hostile = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}]/u
    expect(toJson(value)).not.toMatch(hostile)
    expect(toJson(value)).toContain('ü日本🎉')
    expect(JSON.parse(toJson(value))).toEqual(value)
    const shown = withJsonText({ id: '1' }, 'payload', '{"a":\r\n\t"\u009b2J",\r"n":1.50}')
    expect(shown).not.toMatch(hostile)
    expect(shown).toContain('1.50')
    expect(JSON.parse(shown)).toEqual({ id: '1', payload: { a: '\u009b2J', n: 1.5 } })
  })

  it('escape control characters and leave other letters alone', () => {
    expect(makeVisible('a\u001b[2J\r\nb\u202e\u0000ü日本🎉')).toBe(
      'a\\u{1b}[2J\\u{d}\\u{a}b\\u{202e}\\u{0}ü日本🎉',
    )
    expect(plain(formatFields([['Name', 'a\u0007']]))).toBe('Name  a\\u{7}')
  })
})

describe('values', () => {
  it('times are written in readable units', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    const ago = (seconds: number) => formatAgo(new Date(now - seconds * 1_000).toISOString(), now)
    expect([0, 0.4, 1, 59, 60, 3_599, 3_600, 86_399, 86_400, 86_400 * 400].map(ago)).toEqual([
      ...['now', 'now', '1s ago', '59s ago', '1m ago', '59m ago', '1h ago', '23h ago', '1d ago', '400d ago'],
    ])
    expect([-1, -90, -7_200].map(ago)).toEqual(['in 1s', 'in 1m', 'in 2h'])
    expect(formatAgo(null)).toBe('-')
  })

  it('a subscription has one state', () => {
    const base = { active: false, verified: true, deletedAt: null, deactivationReason: null }
    expect(formatState({ ...base, active: true }).text).toBe('active')
    expect(formatState({ ...base, verified: false }).text).toBe('unverified')
    expect(formatState(base).text).toBe('paused')
    expect(formatState({ ...base, deactivationReason: 'http_410' }).text).toBe('paused (http_410)')
    expect(formatState({ ...base, deletedAt: '2026-01-01T00:00:00Z' }).text).toBe('deleted')
  })
})
