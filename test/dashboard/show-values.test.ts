import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatJson } from '../../dashboard/src/parts/format-json.js'
import {
  formatBytes,
  formatDuration,
  formatShare,
  formatSpan,
} from '../../dashboard/src/parts/format-values.js'
import { showText } from '../../dashboard/src/parts/show-text.js'

describe('JSON as text', () => {
  it('[E1] is the same JSON, with line breaks', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 5 }), fc.nat(6), (json, indent) => {
        const written = JSON.stringify(JSON.parse(json), null, indent)
        expect(formatJson(written)).toBe(JSON.stringify(JSON.parse(json), null, 2))
      }),
    )
  })

  it('[E1] keeps what parsing would lose, and formats as much as it can of a truncated text', () => {
    expect(formatJson('{"a":1e400,"a":[],"b":{}}')).toBe('{\n  "a": 1e400,\n  "a": [],\n  "b": {}\n}')
    expect(formatJson('{"a":["x","cut of')).toBe('{\n  "a": [\n    "x",\n    "cut of')
    expect(formatJson('['.repeat(1_000)).length).toBeLessThan(200_000)
  })
})

describe('untrusted text', () => {
  it('[O6] shows invisible and direction-changing characters by their code, and nothing else', () => {
    expect(showText('a\u202eb\u0000\u200bc\ufeff\u2066')).toBe('a\\u202eb\\u0000\\u200bc\\ufeff\\u2066')
    expect(showText('\u{e0041}')).toBe('\\udb40\\udc41')
    const plain = 'Grüße, 你好, עברית, 😀\n\t<b>&amp;</b>'
    expect(showText(plain)).toBe(plain)
  })
})

describe('values', () => {
  it('are shown in readable units', () => {
    expect([0.24, 12.3, 950, 1_240, 61_000].map((ms) => formatDuration(ms))).toEqual([
      ...['0.2 ms', '12 ms', '950 ms', '1.24 s', '1 min 1 s'],
    ])
    expect([0, 59_000, 3_600_000, 90_061_000].map((ms) => formatSpan(ms))).toEqual([
      ...['0 s', '59 s', '1 h', '1 d 1 h'],
    ])
    // What is not quite all is never rounded up to it.
    expect([null, 0, 0.5, 0.99999, 1].map(formatShare)).toEqual(['–', '0 %', '50.0 %', '99.99 %', '100 %'])
    expect([0, 999, 1_500, 250_000_000].map(formatBytes)).toEqual(['0 B', '999 B', '1.5 kB', '250 MB'])
  })
})
