import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { JsonSyntaxError, scanArray, scanObject } from '../../src/http/scan-json.js'
import { useDatabase } from '../support/database.js'
import { insertDelivery } from '../support/fixtures.js'
import type { CallOptions } from './api-server.js'
import { hostilePayloads, payloadText } from './hostile-payloads.js'
import { useWatchedApi } from './hostile-server.js'

const database = useDatabase()
const api = useWatchedApi(database)

const placeholder = { subscription: '', deadLetter: '' }
beforeAll(async () => {
  const made = await api.call('POST', '/v1/subscriptions', {
    body: { eventType: 'hostile', callbackUrl: 'https://127.0.0.1:1/' },
  })
  placeholder.subscription = made.body.id
  const { id } = await insertDelivery(database.pool, 'DeadLettered')
  const { rows } = await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [id])
  placeholder.deadLetter = rows[0].id
})

/** The calls that read a body, with a good one and the fields that they know. */
const calls: Record<string, { good: string; fields: string[] }> = {
  'POST /v1/events': {
    good: '{"type":"hostile","payload":1}',
    fields: ['type', 'payload', 'idempotencyKey'],
  },
  'POST /v1/events/batch': { good: '{"events":[{"type":"hostile","payload":1}]}', fields: ['events'] },
  'POST /v1/subscriptions': {
    good: '{"eventType":"hostile","callbackUrl":"https://127.0.0.1:1/"}',
    fields: ['eventType', 'callbackUrl', 'maxAttempts', 'headers', 'scheme'],
  },
  'PATCH /v1/subscriptions/{subscription}': {
    good: '{"maxAttempts":3}',
    fields: ['eventType', 'callbackUrl', 'active', 'maxAttempts', 'headers'],
  },
  'POST /v1/subscriptions/{subscription}/rotate-secret': { good: '{}', fields: ['overlapMs', 'scheme'] },
  'POST /v1/subscriptions/{subscription}/verify': { good: '', fields: [] },
  'POST /v1/subscriptions/{subscription}/test': { good: '', fields: [] },
  'POST /v1/dead-letters/{deadLetter}/requeue': { good: '', fields: [] },
  'DELETE /v1/subscriptions/999999999': { good: '', fields: [] },
}
const names = Object.keys(calls)

function send(name: string, body: CallOptions['body'], headers: Record<string, string> = {}) {
  const [method = '', path = ''] = name.split(' ')
  const at = path.replaceAll(/\{(\w+)\}/g, (_, what) => placeholder[what as keyof typeof placeholder])
  return api.call(method, at, { body, headers })
}

/** A refusal, or an answer without the word "error" in its status. */
async function expectClear(name: string, body: CallOptions['body'], headers?: Record<string, string>) {
  const answer = await send(name, body, headers)
  if (answer.status >= 300) api.expectRefusal(answer)
  return answer
}

const storedPayload = async (id: string): Promise<string> =>
  (await database.pool.query('SELECT payload::text AS payload FROM sagapost.events WHERE id = $1', [id]))
    .rows[0].payload

const bytes = (text: string) => Buffer.from(text, 'latin1')
const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

describe('a body that is none', () => {
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
    '100,000 open lists': ['['.repeat(100_000)],
    '50,000 open objects': ['{"a":'.repeat(50_000)],
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
    const { status, body } = await send(
      'POST /v1/events/batch',
      `{"events":[${items.join(',')},{"type":"t","payload":${deep(1_000)}}]}`,
    )
    expect(status).toBe(202)
    expect(body.results.slice(0, -1).map((result: object) => 'error' in result)).toEqual(
      items.map(() => true),
    )
    expect(body.results.at(-1)).toMatchObject({ id: expect.any(String), duplicate: false })
    for (const events of [`[${deep(100_000)}]`, deep(100_000), `[${'{},'.repeat(1_000)}{}]`]) {
      const answer = await expectClear('POST /v1/events/batch', `{"events":${events}}`)
      expect(answer.status).toBe(events.startsWith('[{') ? 400 : 202)
    }
    await api.expectUnharmed()
  })
})

describe('a body of millions of small things', () => {
  it('[O3] is read to its end, and only the first of them are kept', () => {
    const items = `[${'1,'.repeat(1_000_000)}1]`
    expect(scanArray(items, { start: 0, end: items.length }, 1_001)).toHaveLength(1_001)
    const members = `{${'"a":1,'.repeat(1_000_000)}"a":1}`
    expect(scanObject(members)).toHaveLength(1_000)
    expect(() => scanObject(`${members.slice(0, -1)},}`)).toThrow(JsonSyntaxError)
  })
})

describe('any body', () => {
  it('[E1, O3] is judged as JSON.parse judges it, and what is accepted is kept byte for byte', async () => {
    const whole = fc
      .tuple(payloadText, fc.constantFrom('{"type":"hostile","payload":', ' {"payload" :'))
      .map(
        ([payload, before]) => `${before}${payload}${before.startsWith(' ') ? ',"type":"hostile"} ' : '}'}`,
      )
    const broken = fc
      .tuple(whole, fc.nat(), fc.nat(8), fc.uint8Array({ maxLength: 4 }))
      .map(([text, at, cut, insert]) => {
        const good = Buffer.from(text)
        const start = at % (good.length + 1)
        return Buffer.concat([good.subarray(0, start), insert, good.subarray(start + cut)])
      })
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          whole.map((text) => Buffer.from(text)),
          broken,
          fc.uint8Array().map((all) => Buffer.from(all)),
        ),
        async (body) => {
          const answer = await expectClear('POST /v1/events', body)
          const value = parse(body)
          if (value === undefined)
            expect([answer.status, answer.body.code]).toEqual([400, 'request_malformed'])
          else expect(answer.body.code).not.toBe('request_malformed')
          if (answer.status !== 202) return
          const payload = await storedPayload(answer.body.id)
          expect(body.includes(payload)).toBe(true)
          expect(JSON.parse(payload)).toEqual((value as { payload: unknown }).payload)
        },
      ),
      { numRuns: 500 },
    )
    await api.expectUnharmed()
  })

  it.each(names)('[O3] to %s is answered clearly', async (name) => {
    const field = fc.oneof(fc.constantFrom(...(calls[name]?.fields ?? []), '__proto__', 'a'), fc.string())
    const object = fc
      .array(fc.tuple(field, payloadText), { maxLength: 4 })
      .map((members) => `{${members.map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(',')}}`)
    await fc.assert(
      fc.asyncProperty(fc.oneof(object, payloadText, fc.string({ unit: 'binary' })), async (body) => {
        await expectClear(name, body)
      }),
      { numRuns: 60 },
    )
    await api.expectUnharmed()
  })
})

describe('any cursor, filter and id', () => {
  const lists = ['/v1/events', '/v1/subscriptions', '/v1/deliveries', '/v1/dead-letters']
  const parameters = [
    'cursor',
    'limit',
    'type',
    'eventType',
    'from',
    'to',
    'status',
    'eventId',
    'subscriptionId',
    'errorCode',
    'active',
    'deleted',
    '__proto__',
    'constructor',
  ]
  const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64url')
  const odd = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string().map(base64),
    fc.tuple(fc.bigInt(), fc.bigInt()).map(([id, at]) => base64(`${id} ${at}`)),
    fc.bigInt().map((id) => base64(String(id))),
    fc.constantFrom(
      '',
      '0',
      '-1',
      '1e3',
      '0x10',
      ' 5',
      '9'.repeat(30),
      'Infinity',
      'NaN',
      '٣',
      'null',
      'true',
    ),
    fc.constantFrom(
      base64('9223372036854775807 9999999999999999'),
      base64('9223372036854775808'),
      base64('1 '),
      'Nw==',
    ),
    fc.constantFrom(
      '0001-01-01T00:00:00Z',
      '9999-12-31T23:59:59.999999Z',
      '2026-02-30T00:00:00Z',
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:00:00+23:59',
      '2026-01-01T00:00:60Z',
    ),
  )

  it('[O3] is answered clearly', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...lists),
        fc.array(fc.tuple(fc.constantFrom(...parameters), odd), { minLength: 1, maxLength: 3 }),
        async (path, query) => {
          const text = query.map(([name, value]) => `${name}=${percent(value)}`).join('&')
          const answer = await api.call('GET', `${path}?${text}`)
          if (answer.status !== 200) api.expectRefusal(answer)
          if (query.some(([name]) => name === '__proto__' || name === 'constructor'))
            expect(answer.status).toBe(400)
        },
      ),
      { numRuns: 400 },
    )
    await api.expectUnharmed()
  })

  it('[O3] nothing has an id like that', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...lists),
        odd.filter((id) => id !== '' && !/^\.{1,2}$/.test(id) && !/^[1-9]\d*$/.test(id)),
        async (path, id) => {
          const answer = await api.call('GET', `${path}/${percent(id)}`)
          api.expectRefusal(answer)
          expect(answer.status).toBe(404)
        },
      ),
      { numRuns: 200 },
    )
    await api.expectUnharmed()
  })
})

/** As a client would that knows nothing of Unicode: lone surrogates as their three bytes. */
function percent(text: string): string {
  return [...text]
    .map((each) => (/\p{Surrogate}/u.test(each) ? '%ed%a0%80' : encodeURIComponent(each)))
    .join('')
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
  } catch {
    return undefined
  }
}
