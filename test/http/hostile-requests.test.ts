import { describe, expect, it } from 'vitest'
import { errorCatalogue } from '../../src/errors/index.js'
import { useDatabase } from '../support/database.js'
import { adminKey } from './api-server.js'
import { head, useWatchedApi } from './hostile-server.js'

const database = useDatabase()
const api = useWatchedApi(database)
const impatient = useWatchedApi(database, () => ({ requestMsMax: 300 }))

const post = 'POST /v1/events'
const event = '{"type":"raw","payload":1}'
const chunked = { 'transfer-encoding': 'chunked' }
const close = { connection: 'close' }
const countRaw = async () =>
  Number(
    (await database.pool.query(`SELECT count(*) FROM sagapost.events WHERE event_type = 'raw'`)).rows[0]
      .count,
  )

describe('input that is not a request', () => {
  it.each<[string, string | Buffer, { end?: boolean }?]>([
    ['no HTTP', 'nonsense\r\n\r\n'],
    ['bytes of every kind', Buffer.from(Array.from({ length: 256 }, (_, n) => n))],
    ['a TLS greeting', Buffer.from('16030100a5010000a10303', 'hex')],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['a method that nobody knows', 'FROB /v1/events HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a bare line feed in a value', head(post, { 'idempotency-key': 'a\nb: c', 'content-length': '2' })],
    ['a NUL in a value', head(post, { 'idempotency-key': 'a\0b', 'content-length': '2' })],
    ['a header without a name', head(post, { '': 'x' })],
    ['a header with a space before its colon', head(post, { 'idempotency-key ': 'x' })],
    ['a URL of 100,000 characters', head(`GET /v1/events?cursor=${'x'.repeat(100_000)}`)],
    ['a header of 100,000 characters', head(post, { 'idempotency-key': 'x'.repeat(100_000) })],
    [
      '5,000 headers',
      head(post, Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`x-${n}`, 'y']))),
    ],
    ['a length that is none', head(post, { 'content-length': '-1' })],
    ['a length that no computer has', head(post, { 'content-length': '9'.repeat(40) })],
    ['two lengths', head(post, { 'content-length': '2', 'Content-Length': '3' })],
    ['a length and chunks', head(post, { 'content-length': '2', ...chunked })],
    ['a chunk whose size is none', `${head(post, chunked)}zz\r\n`],
    ['a chunk that is larger than it says', `${head(post, chunked)}2\r\n{}{}{}\r\n0\r\n\r\n`],
    [
      'a body that ends before its length',
      `${head(post, { 'content-length': '500' })}${event}`,
      { end: true },
    ],
    ['chunks that end before their end', `${head(post, chunked)}1a\r\n${event}\r\n`, { end: true }],
    ['a head that ends in the middle', head(post).slice(0, 50), { end: true }],
  ])('[O1] %s gets 400 and a closed connection', async (_what, bytes, options) => {
    const before = await countRaw()
    const { status, body } = await api.exchange(bytes, options)
    expect([status, body]).toEqual([400, expect.stringContaining('"code":"request_malformed"')])
    expect(JSON.parse(body)).toMatchObject({ status: 400, title: errorCatalogue.request_malformed.title })
    await api.expectUnharmed()
    expect(await countRaw()).toBe(before)
  })

  it('[O1] a CONNECT, and an upgrade to an unsupported protocol, leave nothing hanging', async () => {
    expect(await api.exchange('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n')).toMatchObject({ closed: true })
    const upgrade = { connection: 'upgrade', upgrade: 'websocket' }
    const { status } = await api.exchange(
      head('GET /healthz', { ...upgrade, 'sec-websocket-version': '13' }),
      {
        end: true,
      },
    )
    expect([200, undefined]).toContain(status)
    await api.expectUnharmed()
  })

  it.each([
    ['in the middle of the head', head(post).slice(0, 50)],
    ['before the body', head(post, { 'content-length': '500' })],
    ['in the middle of the body', `${head(post, { 'content-length': '500' })}${event}`],
    ['in the middle of the chunks', `${head(post, chunked)}1a\r\n${event}\r\n`],
    [
      'in the middle of a body of another call',
      `${head('POST /v1/subscriptions', chunked)}1a\r\n${event}\r\n`,
    ],
    ['before the answer', `${head(post, { 'content-length': String(event.length) })}${event}`],
  ])('[O1] a connection that breaks %s is not logged as an error', async (_where, bytes) => {
    await api.exchange(bytes, { reset: true })
    await api.expectUnharmed()
  })
})

describe('odd but complete requests', () => {
  it.each<[string, string, number]>([
    ['chunks of one byte', `${head(post, { ...chunked, ...close })}${bytewise(event)}`, 202],
    [
      'an expectation',
      `${head(post, { expect: 'a miracle', 'content-length': '26', ...close })}${event}`,
      202,
    ],
    [
      '100-continue',
      `${head(post, { expect: '100-continue', 'content-length': '26', ...close })}${event}`,
      100,
    ],
    ['HTTP/1.0', `GET /v1/events HTTP/1.0\r\nAuthorization: Bearer ${adminKey}\r\n\r\n`, 200],
    ['a whole URL', head('GET http://x/v1/events', close), 200],
    ['two slashes', head('GET //v1/events', close), 404],
    ['a way up', head('GET /v1/../v1/events', close), 404],
    ['an encoded way up', head('GET /docs/..%2f..%2fpackage.json', close), 404],
    ['a star', head('OPTIONS *', close), 404],
    ['a bad escape', head('GET /v1/events/%zz', close), 404],
    ['an encoded NUL', head('GET /v1/events/%00', close), 404],
    ['a URL of 10,000 characters', head(`GET /v1/events/${'1'.repeat(10_000)}`, close), 404],
    ['a query of 10,000 characters', head(`GET /v1/events?cursor=${'x'.repeat(10_000)}`, close), 400],
    [
      'a key of 10,000 characters',
      head('GET /v1/events', { authorization: `Bearer ${'x'.repeat(1e4)}`, ...close }),
      401,
    ],
    [
      'an idempotency key of 10,000 characters',
      `${head(post, { 'idempotency-key': 'x'.repeat(10_000), 'content-length': '26', ...close })}${event}`,
      422,
    ],
    [
      'an idempotency key of other bytes than ASCII',
      `${head(post, { 'idempotency-key': 'gr\xfc\xdfe', 'content-length': '26', ...close })}${event}`,
      422,
    ],
    [
      'a content type twice',
      `${head(post, { 'Content-Type': 'text/plain', 'content-length': '26', ...close })}${event}`,
      202,
    ],
  ])('[O1] %s', async (_what, bytes, expected) => {
    const { status, body } = await api.exchange(Buffer.from(bytes, 'latin1'))
    expect([status, body]).toEqual([expected, expect.any(String)])
    if (expected >= 400)
      expect(JSON.parse(body)).toMatchObject({ status: expected, code: expect.any(String) })
    await api.expectUnharmed()
  })

  it('[O1] 100 pipelined requests, one of them bad, are answered in order', async () => {
    const good = `${head(post, { 'content-length': '26' })}${event}`
    const bad = `${head(post, { 'content-length': '2' })}[]`
    const { body, status } = await api.exchange(
      good.repeat(50) + bad + good.repeat(48) + head('GET /healthz', close),
    )
    const statuses = [String(status), ...[...body.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, each]) => each)]
    expect(statuses).toEqual([...Array(50).fill('202'), '400', ...Array(48).fill('202'), '200'])
    await api.expectUnharmed()
  })

  it.each([
    ['POST /v1/events', 'content-length'],
    ['POST /v1/events', 'chunked'],
    ['POST /v1/events/batch', 'chunked'],
    ['POST /v1/subscriptions', 'content-length'],
    ['PATCH /v1/subscriptions/1', 'chunked'],
  ])('[O1] 20 MB to %s by %s get 413 though the client writes to the end', async (line, by) => {
    const bytes = Buffer.alloc(20_000_000, ' ')
    const size = bytes.length
    const request =
      by === 'chunked'
        ? [head(line, chunked), `${size.toString(16)}\r\n`, bytes, '\r\n0\r\n\r\n']
        : [head(line, { 'content-length': String(size) }), bytes]
    const { status, body } = await api.exchange(
      Buffer.concat(request.map((part) => Buffer.from(part as string))),
    )
    expect([status, JSON.parse(body).code]).toEqual([413, 'request_too_large'])
    await api.expectUnharmed()
  })
})

describe('a request that does not arrive in time', () => {
  it.each([
    ['a head', head(post).slice(0, 50), 'x'],
    ['a body', head(post, { 'content-length': '100000' }), ' '],
    ['chunks without an end', head(post, chunked), '1\r\n \r\n'],
    ['a body of another call', head('POST /v1/subscriptions', { 'content-length': '100000' }), ' '],
  ])('[O1] %s, drip by drip: the server says so and lets the connection go', async (_what, bytes, drip) => {
    const { status, body, closed } = await impatient.exchange(bytes, { drip })
    expect([status, closed]).toEqual([400, true])
    expect(JSON.parse(body)).toMatchObject({
      code: 'request_malformed',
      detail: 'the request was not received in time',
    })
    await impatient.expectUnharmed()
  })
})

function bytewise(text: string): string {
  return `${[...text].map((each) => `1\r\n${each}\r\n`).join('')}0\r\n\r\n`
}
