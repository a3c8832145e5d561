import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { atOnce } from '../../src/http/read-in-turns.js'
import { JsonSyntaxError, scanArray, scanObject } from '../../src/http/scan-json.js'
import { useDatabase } from '../support/database.js'
import { calls, names, useCalls } from './hostile-calls.js'
import { hostilePayloads } from './hostile-payloads.js'
import { useWatchedApi } from './hostile-server.js'

const database = useDatabase()
const api = useWatchedApi(database)
const expectClear = useCalls(database, api)

const bytes = (text: string) => Buffer.from(text, 'latin1')
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

describe('a body that is not JSON', () => {
  const bodies: Record<string, [string | Buffer, Record<string, string>?]> = {
    'a brace': ['{'],
    'two objects': ['{}{}'],
    'a comma too many': ['{"a":1,}'],
    'a comment': ['{/* */}'],
    'single quotes': ["{'a':1}"],
    'a name without quotes': ['{a:1}'],
    NaN: ['{"a":NaN}'],
    'a number with a plus': ['{"a":+1}'],
    'a number with a zero in front': ['{"a":01}'],
    'an open text': ['{"a":"'],
    'a raw NUL': ['{"a":"\0"}'],
    'a raw NUL outside': ['{}\0'],
    'a raw line feed in a text': ['{"a":"\n"}'],
    'a bad escape': ['{"a":"\\x00"}'],
    'half an escape': ['{"a":"\\u00"}'],
    'a byte order mark': ['\ufeff{}'],
    'a no-break space': ['\u00a0{}'],
    'bytes that are no UTF-8': [bytes('{"a":"\xff\xfe"}')],
    'a character that is cut off': [bytes('{"a":"\xf0\x9f\x98"}')],
    'an overlong NUL': [bytes('{"a":"\xc0\x80"}')],
    'a surrogate in UTF-8': [bytes('{"a":"\xed\xa0\x80"}')],
    'beyond the last character': [bytes('{"a":"\xf4\x90\x80\x80"}')],
    'UTF-16': [
      Buffer.from('{"type":"x","payload":1}', 'utf16le'),
      { 'content-type': 'application/json; charset=utf-16' },
    ],
    '20,000 open lists': ['['.repeat(20_000)],
    '20,000 open objects': ['{"a":'.repeat(20_000)],
  }
  it.each(Object.keys(bodies).flatMap((what) => names.map((name) => [what, name] as const)))(
    '[O3] %s to %s is 400 request_malformed',
    async (what, name) => {
      const [body, headers] = bodies[what] as [string | Buffer, Record<string, string>?]
      const answer = await expectClear(name, body, headers)
      expect([answer.status, answer.body.code]).toEqual([400, 'request_malformed'])
      await api.expectUnharmed()
    },
  )

  it.each(names)('[O3] other content types and encodings to %s are 415', async (name) => {
    const body = calls[name]?.good || '{}'
    for (const type of [
      'text/plain',
      'text/json',
      'application/xml',
      'multipart/form-data; boundary=x',
      'json',
      ';',
      'application/json,text/plain',
      'application/jsonx',
      'application/problem+json',
    ]) {
      const answer = await expectClear(name, body, { 'content-type': type })
      expect([type, answer.status]).toEqual([type, 415])
    }
    for (const encoding of ['gzip', 'GZIP', 'deflate', 'br', 'identity, gzip', 'x']) {
      const answer = await expectClear(name, gzipSync(body), { 'content-encoding': encoding })
      expect([encoding, answer.status]).toEqual([encoding, 415])
    }
    await api.expectUnharmed()
  })

  it.each(names)('[O3] 10 MB to %s are 413, or a list of bad items', async (name) => {
    const answer = await expectClear(name, `{"events":[${'1,'.repeat(5_000_000)}1]}`)
    expect(answer.status).toBe(name === 'POST /v1/events/batch' ? 400 : 413)
    await api.expectUnharmed()
  })
})

describe('a body of the wrong shape', () => {
  const bodies: Record<string, string> = {
    'a list': '[]',
    'a list of objects': '[{}]',
    'a text': '"{}"',
    'a number': '1e400',
    null: 'null',
    '100,000 levels': deep(100_000),
    __proto__: '{"__proto__":{"type":"x","payload":1}}',
    'an escaped __proto__': '{"\\u005f_proto__":{}}',
    constructor: '{"constructor":{"prototype":{}}}',
    'a name of 10,000 characters': `{"${'x'.repeat(10_000)}":1}`,
    'a name that is half a character': '{"\\ud800":1}',
    'a name with NUL': '{"\\u0000":1}',
    'an empty name': '{"":1}',
    '10,000 names': `{${Array.from({ length: 10_000 }, (_, n) => `"${n}":0`).join(',')}}`,
  }
  it.each(Object.keys(bodies).flatMap((what) => names.map((name) => [what, name] as const)))(
    '[O3] %s to %s is 400 request_invalid',
    async (what, name) => {
      const answer = await expectClear(name, bodies[what])
      expect([answer.status, answer.body.code]).toEqual([400, 'request_invalid'])
      expect(answer.text.length).toBeLessThan(3_000)
      await api.expectUnharmed()
    },
  )

  it.each(names.flatMap((name) => (calls[name]?.fields ?? []).map((field) => [name, field] as const)))(
    '[O3] %s: %s of every kind, and twice',
    async (name, field) => {
      const values = [...Object.values(hostilePayloads), deep(50_000), `"${'x'.repeat(100_000)}"`]
      for (const value of values) {
        const answer = await expectClear(name, `{"${field}":${value}}`)
        const { good } = calls[name] as { good: string }
        await expectClear(name, `${good.slice(0, -1)}${good === '{}' ? '' : ','}"${field}":${value}}`)
        expect(answer.text.length).toBeLessThan(3_000)
      }
      const twice = await expectClear(name, `{"${field}":1,"${field}":1}`)
      expect([twice.status, twice.body.code, twice.body.errors[0].field]).toEqual([
        400,
        'request_invalid',
        field,
      ])
      expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
      await api.expectUnharmed()
    },
  )

  it('[E1] a batch of hostile items is answered item by item', async () => {
    const items = [
      '[]',
      '{}',
      'null',
      '"x"',
      '{"__proto__":1}',
      deep(10_000),
      '{"type":"t","type":"t"}',
      '{"type":"t","payload":1,"events":[]}',
      `{"type":"t","payload":${deep(1_001)}}`,
    ]
    const { status, body } = await expectClear(
      'POST /v1/events/batch',
      `{"events":[${items.join(',')},{"type":"t","payload":${deep(1_000)}}]}`,
    )
    expect(status).toBe(202)
    expect(body.results.slice(0, -1).map((result: object) => 'error' in result)).toEqual(
      items.map(() => true),
    )
    expect(body.results.at(-1)).toMatchObject({ id: expect.any(String), duplicate: false })
    for (const [events, expected] of [
      [`[${deep(19_000)}]`, 202],
      [`[${deep(100_000)}]`, 400],
      [`[${'{},'.repeat(1_000)}{}]`, 400],
    ] as const) {
      const answer = await expectClear('POST /v1/events/batch', `{"events":${events}}`)
      expect(answer.status).toBe(expected)
    }
    await api.expectUnharmed()
  })
})

describe('a body with millions of small members', () => {
  it('[O3] is read to its end, and only the first of them are kept', () => {
    const items = `[${'1,'.repeat(1_000_000)}1]`
    expect(atOnce(scanArray(items, { start: 0, end: items.length }, 1_001))).toHaveLength(1_001)
    const members = `{${'"a":1,'.repeat(1_000_000)}"a":1}`
    expect(atOnce(scanObject(members))).toHaveLength(1_000)
    expect(() => atOnce(scanObject(`${members.slice(0, -1)},}`))).toThrow(JsonSyntaxError)
  })
})
