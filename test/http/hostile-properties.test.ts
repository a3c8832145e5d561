import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { calls, names, useCalls } from './hostile-calls.js'
import { payloadText } from './hostile-payloads.js'
import { useWatchedApi } from './hostile-server.js'

const database = useDatabase()
const api = useWatchedApi(database)
const expectClear = useCalls(database, api)

const storedPayload = async (id: string): Promise<string> =>
  (await database.pool.query('SELECT payload::text AS payload FROM sagapost.events WHERE id = $1', [id]))
    .rows[0].payload

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

  it('[O3] no record has an id like that', async () => {
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
