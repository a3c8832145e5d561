import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { buildConnector } from 'undici'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeCertificate } from '../../src/cli/make-certificate.js'
import { createConnectionPool } from '../../src/webhook/connection-pool.js'
import {
  createWebhookSender,
  formatSecret,
  generateSecret,
  type WebhookRequest,
  type WebhookSender,
} from '../../src/webhook/index.js'
import { readRetryAfter } from '../../src/webhook/read-retry-after.js'
import { createTlsSessions } from '../../src/webhook/tls-sessions.js'
import { waitFor } from '../database/embedded/wait-for.js'
import {
  type ReceivedRequest,
  type Receiver,
  type ReceiverResponse,
  startReceiver,
} from '../support/https-receiver.js'

const loopback = ['127.0.0.0/8', '::1/128']
const cleanups: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function start(
  respond: (request: ReceivedRequest) => ReceiverResponse | Promise<ReceiverResponse> = () => ({}),
  { keepAliveMs, ...options }: { requestTimeoutMs?: number; keepAliveMs?: number } = {},
): Promise<{ receiver: Receiver; sender: WebhookSender; request: WebhookRequest }> {
  const receiver = await startReceiver({ respond, ...(keepAliveMs && { keepAliveMs }) })
  const sender = createWebhookSender({
    requestTimeoutMs: 20_000,
    ...options,
    allowedCidrs: loopback,
    extraCertificateAuthorities: [receiver.certificateAuthority],
  })
  cleanups.push(receiver.stop, sender.close)
  const request = {
    url: receiver.url,
    webhookId: 'evt_1',
    body: Buffer.from('{}'),
    secrets: [generateSecret()],
    headers: {},
  }
  return { receiver, sender, request }
}

describe('the request', () => {
  it('carries any bytes unchanged, signed as they are sent', async () => {
    const { receiver, sender, request } = await start()
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 3_000 }), async (bytes) => {
        const secret = generateSecret()
        const body = Buffer.from(bytes)
        const outcome = await sender.send({ ...request, body, secrets: [secret] })
        expect(outcome.delivered).toBe(true)
        const received = receiver.requests.at(-1)
        expect(received?.body.equals(body)).toBe(true)
        const headers = received?.headers as Record<string, string>
        // The verifier decodes bytes to text, so it is given text that has the same bytes.
        if (Buffer.from(body.toString()).equals(body)) {
          new Webhook(formatSecret(secret)).verify(body, headers, { jsonParse: false })
        }
        expect(headers['content-length']).toBe(String(body.length))
      }),
      { numRuns: 60 },
    )
  })

  it('carries a payload of 1 MiB unchanged', async () => {
    const { receiver, sender, request } = await start()
    const body = Buffer.from(JSON.stringify('ä'.repeat(524_287)))
    await sender.send({ ...request, body })
    expect(receiver.requests[0]?.body.equals(body)).toBe(true)
  })

  it('is a POST to path and query with the headers of the standard, ours and the subscription’s, and no more', async () => {
    const { receiver, sender, request } = await start()
    await sender.send({
      ...request,
      url: `${receiver.url}hooks/%C3%A4?a=b%20c#fragment`,
      headers: { 'X-Team': 'orders', 'sagapost-event-type': 'order.placed', 'sagapost-attempt': '2' },
    })
    const [received] = receiver.requests
    expect(received).toMatchObject({ method: 'POST', path: '/hooks/%C3%A4?a=b%20c' })
    expect(received?.headers).toEqual({
      host: `127.0.0.1:${receiver.port}`,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': '2',
      'user-agent': expect.stringMatching(/^sagapost\/\d+\.\d+\.\d+/),
      'webhook-id': 'evt_1',
      'webhook-timestamp': expect.stringMatching(/^\d+$/),
      'webhook-signature': expect.stringMatching(/^v1,/),
      'x-team': 'orders',
      'sagapost-event-type': 'order.placed',
      'sagapost-attempt': '2',
    })
  })

  it('keeps its own headers whatever a stored row says', async () => {
    const { receiver, sender, request } = await start()
    const headers = { 'Webhook-Id': 'evt_2', 'Webhook-Signature': 'v1,forged!', 'Content-Type': 'text/html' }
    await sender.send({ ...request, headers })
    expect(receiver.requests[0]?.headers).toMatchObject({
      'webhook-id': 'evt_1',
      'webhook-signature': expect.not.stringContaining('forged!'),
      'content-type': 'application/json',
    })
  })

  it.each([
    ['host', 'internal.example'],
    ['Content-Length', '0'],
    ['transfer-encoding', 'chunked'],
    ['Expect', '100-continue'],
    ['upgrade', 'websocket'],
    ['connection', 'close'],
    ['proxy-authorization', 'x'],
    ['x-split', 'a\r\nx-smuggled: b'],
    ['x-nul', 'a\0b'],
    ['x-wide', '€'],
    ['x name', 'a'],
  ])('with a header %s that would frame or split it is not sent', async (name, value) => {
    const { receiver, sender, request } = await start()
    expect(await sender.send({ ...request, headers: { [name]: value } })).toMatchObject({
      delivered: false,
      errorCode: 'invalid_headers',
    })
    expect(receiver.requests).toEqual([])
  })

  it('uses no proxy of the environment', async () => {
    const { sender, request } = await start()
    process.env['HTTPS_PROXY'] = process.env['https_proxy'] = 'http://127.0.0.1:1'
    try {
      expect(await sender.send(request)).toMatchObject({ delivered: true })
    } finally {
      delete process.env['HTTPS_PROXY']
      delete process.env['https_proxy']
    }
  })

  it.each(['http://127.0.0.1/', 'https://a@127.0.0.1/', 'https://', 'x', 'file:///etc/passwd'])(
    '[U3] to %s is not sent: invalid_url',
    async (url) => {
      const { sender, request } = await start()
      expect(await sender.send({ ...request, url })).toMatchObject({ errorCode: 'invalid_url' })
    },
  )
})

describe('the outcome', () => {
  it.each([200, 201, 202, 204, 299])('[J6] of status %i is delivered', async (status) => {
    const { sender, request } = await start(() => ({ status, body: status === 204 ? '' : 'thanks' }))
    expect(await sender.send(request)).toEqual({
      delivered: true,
      responseStatus: status,
      responseExcerpt: status === 204 ? '' : 'thanks',
      durationMs: expect.any(Number),
    })
  })

  it.each([300, 301, 302, 303, 304, 307, 308, 400, 401, 404, 410, 418, 429, 500, 502, 503, 504, 599])(
    '[J6] of status %i is a failure with that status, redirects not followed',
    async (status) => {
      const { receiver, sender, request } = await start(() => ({
        status,
        headers: { location: '/elsewhere' },
        body: status === 304 ? '' : 'no',
      }))
      expect(await sender.send(request)).toEqual({
        delivered: false,
        errorCode: `http_${status}`,
        responseStatus: status,
        responseExcerpt: status === 304 ? '' : 'no',
        durationMs: expect.any(Number),
      })
      expect(receiver.requests).toHaveLength(1)
    },
  )

  it('keeps 2,000 characters of the response as text that PostgreSQL can store', async () => {
    const bodies: Buffer[] = [
      Buffer.from('x'.repeat(5_000)),
      Buffer.from(`a\0b`),
      Buffer.from([0x66, 0xff, 0xfe, 0x67]),
      Buffer.from(`y${'😀'.repeat(4_000)}`),
      Buffer.from('€'.repeat(4_000)),
    ]
    const { sender, request } = await start(() => ({ body: bodies.shift() ?? '' }))
    const excerpt = async () => (await sender.send(request)).responseExcerpt
    expect(await excerpt()).toBe('x'.repeat(2_000))
    expect(await excerpt()).toBe('a\ufffdb')
    expect(await excerpt()).toBe('f\ufffd\ufffdg')
    expect(await excerpt()).toBe(`y${'😀'.repeat(999)}`) // and not half of the thousandth
    expect(await excerpt()).toBe('€'.repeat(2_000))
  })

  it('is connection_refused where nothing listens', async () => {
    const { sender, request } = await start()
    expect(await sender.send({ ...request, url: 'https://127.0.0.1:1/' })).toMatchObject({
      errorCode: 'connection_refused',
    })
  })

  it('is tls_failed where the endpoint does not speak TLS', async () => {
    const { sender, request } = await start()
    const server = createServer((socket) => socket.on('error', () => {}).end('SSH-2.0-OpenSSH_9.6\r\n'))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    cleanups.push(async () => void server.close())
    const { port } = server.address() as { port: number }
    const outcome = await sender.send({ ...request, url: `https://127.0.0.1:${port}/` })
    expect(outcome).toMatchObject({ errorCode: 'tls_failed' })
  })

  it('is aborted when the caller gives up: before, while it waits, and while it connects', async () => {
    const { receiver, sender, request } = await start(() => ({ delayMs: 600_000 }))
    expect(await sender.send(request, { signal: AbortSignal.abort() })).toMatchObject({
      errorCode: 'aborted',
    })

    const waiting = new AbortController()
    const sent = sender.send(request, { signal: waiting.signal })
    await waitFor('the request arrives', () => receiver.requests.length === 1)
    waiting.abort()
    expect(await sent).toMatchObject({ delivered: false, errorCode: 'aborted' })
    await waitFor('its connection closes', () => receiver.connectionsOpen() === 0)

    const connecting = new AbortController()
    const unsent = sender.send(request, { signal: connecting.signal })
    connecting.abort()
    expect(await unsent).toMatchObject({ errorCode: 'aborted' })
    await sender.close()
    expect(receiver.requests).toHaveLength(1)
  })

  it('is aborted for requests under way when the sender closes, and for later ones', async () => {
    const { receiver, sender, request } = await start(() => ({ delayMs: 600_000 }))
    const sent = sender.send(request)
    await waitFor('the request arrives', () => receiver.requests.length === 1)
    const connecting = sender.send(request)
    await sender.close()
    expect(await sent).toMatchObject({ errorCode: 'aborted' })
    expect(await connecting).toMatchObject({ errorCode: 'aborted' })
    expect(await sender.send(request)).toMatchObject({ errorCode: 'aborted' })
    await sender.close()
    await waitFor('all connections close', () => receiver.connectionsOpen() === 0)
  })
})

describe('connections', () => {
  it('are replaced after a while, so that a receiver that moved is followed; requests under way end normally', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    // By itself an idle connection would live for half a minute.
    const { receiver, sender, request } = await start(
      (received) => (received.headers['webhook-id'] === 'evt_slow' ? held.then(() => ({})) : {}),
      { keepAliveMs: 600_000 },
    )
    const soon = { timeout: 15_000 }
    const clock = vi.spyOn(performance, 'now')
    cleanups.push(async () => clock.mockRestore())
    const early = sender.send({ ...request, webhookId: 'evt_slow' })
    await sender.send(request)
    await waitFor('the slow one is there', () => receiver.requests.length === 2)
    expect(receiver.connectionsMade()).toBe(2)
    await new Promise(setImmediate)
    const sinceMs = performance.now()
    clock.mockImplementation(() => sinceMs + 300_001)
    expect((await sender.send(request)).delivered).toBe(true)
    expect(receiver.connectionsMade()).toBe(3)
    await expect.poll(() => receiver.connectionsOpen(), soon).toBe(2) // the idle one is closed
    release()
    expect((await early).delivered).toBe(true)
    await expect.poll(() => receiver.connectionsOpen(), soon).toBe(1) // and the old one as well
  })

  it('that were replaced end with the others: requests under way on them are aborted', async () => {
    const { receiver, sender, request } = await start((received) =>
      received.headers['webhook-id'] === 'evt_slow' ? new Promise(() => {}) : {},
    )
    const clock = vi.spyOn(performance, 'now')
    cleanups.push(async () => clock.mockRestore())
    const early = sender.send({ ...request, webhookId: 'evt_slow' })
    await waitFor('the slow one is there', () => receiver.requests.length === 1)
    const sinceMs = performance.now()
    clock.mockImplementation(() => sinceMs + 300_001)
    await sender.send(request)
    await sender.close()
    expect(await early).toMatchObject({ delivered: false, errorCode: 'aborted' })
    expect(await sender.send(request)).toMatchObject({ delivered: false, errorCode: 'aborted' })
  })

  it('are reused: many requests in a row need few, and concurrent ones one each', async () => {
    const { receiver, sender, request } = await start()
    for (let i = 0; i < 50; i++) expect(await sender.send(request)).toMatchObject({ delivered: true })
    expect(receiver.connectionsMade()).toBeLessThanOrEqual(2)
    await Promise.all(Array.from({ length: 20 }, () => sender.send(request)))
    // Two more: a connection is free again one turn of the event loop after its response.
    expect(receiver.connectionsMade()).toBeLessThanOrEqual(22)
    expect(receiver.requests).toHaveLength(70)
  })

  it('whose request timed out are closed: none replaces them, and the others keep theirs', async () => {
    const { receiver, sender, request } = await start(
      (received) => (received.headers['webhook-id'] === 'evt_hangs' ? new Promise(() => {}) : {}),
      { requestTimeoutMs: 1_500 },
    )
    const hanging = Array.from({ length: 5 }, () => sender.send({ ...request, webhookId: 'evt_hangs' }))
    await waitFor('they are there', () => receiver.requests.length === 5)
    const neighbour = async () => {
      expect(await sender.send(request)).toMatchObject({ delivered: true })
      // Free again one turn of the event loop after its response.
      await new Promise(setImmediate)
    }
    await neighbour()
    for (const outcome of await Promise.all(hanging)) expect(outcome).toMatchObject({ errorCode: 'timeout' })
    await waitFor('their connections are closed', () => receiver.connectionsOpen() === 1)
    for (let i = 0; i < 10; i++) await neighbour()
    expect(receiver.connectionsMade()).toBe(6)
  })

  it('are not lost by a request that is refused before it is sent', async () => {
    const { receiver, sender, request } = await start()
    await sender.send(request)
    await new Promise(setImmediate)
    for (const value of ['a\nb', 'c\u0000d']) {
      const refused = { ...request, headers: { 'x-of-theirs': value } }
      expect(await sender.send(refused)).toMatchObject({ errorCode: 'invalid_headers' })
    }
    expect(await sender.send(request)).toMatchObject({ delivered: true })
    expect(receiver.connectionsMade()).toBe(1)
  })

  it.each([
    { connection: 'close' },
    // Undici leaves it two seconds early.
    { 'keep-alive': 'timeout=3' },
  ])('that are closed are not used again while another one is open: %j', async (headers) => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { receiver, sender, request } = await start((received) =>
      received.headers['webhook-id'] === 'evt_last' ? held.then(() => ({ headers })) : {},
    )
    const last = sender.send({ ...request, webhookId: 'evt_last' })
    await waitFor('the last one is there', () => receiver.requests.length === 1)
    await sender.send(request)
    release()
    await last
    await waitFor('its connection is closed', () => receiver.connectionsOpen() === 1)
    expect(await sender.send(request)).toMatchObject({ delivered: true })
    expect(receiver.connectionsMade()).toBe(2)
  })

  it('that were used last are used first, so that surplus ones are closed', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const { receiver, sender, request } = await start((received) =>
      received.headers['webhook-id'] === 'evt_last' ? held.then(() => ({})) : {},
    )
    const last = sender.send({ ...request, webhookId: 'evt_last' })
    await waitFor('the last one is there', () => receiver.requests.length === 1)
    await sender.send(request)
    release()
    await last
    await new Promise(setImmediate)
    await sender.send(request)
    const [ofLast, other, used] = receiver.requests.map(({ port }) => port)
    expect(other).not.toBe(ofLast)
    expect(used).toBe(ofLast)
  })

  it('that are closed are not used, even before the close was reported', async () => {
    const receiver = await startReceiver({})
    const connect = buildConnector({ ca: receiver.certificateAuthority })
    const sockets: Socket[] = []
    const connections = createConnectionPool({
      connect: (options, callback) =>
        connect(options, (...made) => {
          if (made[1]) sockets.push(made[1])
          callback(...made)
        }),
    })
    cleanups.push(receiver.stop, () => connections.destroy())
    const { origin } = new URL(receiver.url)
    const send = () =>
      new Promise<void>((resolve, reject) => {
        connections.dispatch(
          { origin, path: '/', method: 'POST', body: '{}' },
          {
            onRequestStart() {},
            onResponseEnd: () => resolve(),
            onResponseError: (_, error) => reject(error),
          },
        )
      })
    await Promise.all(Array.from({ length: 3 }, send))
    await new Promise(setImmediate)
    sockets.at(-1)?.destroy()
    sockets.at(-2)?.destroy()
    await send()
    expect(sockets).toHaveLength(3)
  })

  it('resume the previous TLS session, until all are replaced: then the certificate is checked again', async () => {
    const { receiver, sender, request } = await start()
    const clock = vi.spyOn(performance, 'now')
    cleanups.push(async () => clock.mockRestore())
    await sender.send(request)
    expect(receiver.sessionsResumed()).toBe(0)
    await Promise.all(Array.from({ length: 5 }, () => sender.send(request)))
    const made = receiver.connectionsMade()
    expect(made).toBeGreaterThan(1)
    expect(receiver.sessionsResumed()).toBe(made - 1)
    const sinceMs = performance.now()
    clock.mockImplementation(() => sinceMs + 300_001)
    await sender.send(request)
    expect(receiver.connectionsMade()).toBe(made + 1)
    expect(receiver.sessionsResumed()).toBe(made - 1)
  })

  it('begin without a session after one that failed or got no answer', async () => {
    const ticketKeys = randomBytes(48)
    const first = await startReceiver({ ticketKeys })
    const sender = createWebhookSender({
      requestTimeoutMs: 1_000,
      allowedCidrs: loopback,
      extraCertificateAuthorities: [first.certificateAuthority],
    })
    cleanups.push(sender.close)
    const { port, url } = first
    const send = () =>
      sender.send({
        url,
        webhookId: 'evt_1',
        body: Buffer.from('{}'),
        secrets: [generateSecret()],
        headers: {},
      })
    // The connection that the stop has closed may be tried once more.
    const failsWith = (errorCode: string) =>
      expect.poll(send, { timeout: 20_000 }).toMatchObject({ delivered: false, errorCode })
    expect(await send()).toMatchObject({ delivered: true })
    await first.stop()

    const stranger = await startReceiver({ port, certificate: await makeCertificate() })
    cleanups.push(stranger.stop)
    await failsWith('tls_invalid_certificate')
    expect(stranger.requests).toHaveLength(0)
    await stranger.stop()

    const again = await startReceiver({ port, ticketKeys })
    cleanups.push(again.stop)
    expect(await send()).toMatchObject({ delivered: true })
    expect(again.sessionsResumed()).toBe(0)
    await Promise.all([send(), send()])
    expect(again.sessionsResumed()).toBeGreaterThan(0)
    await again.stop()

    const silent = createServer((socket) => socket.on('error', () => {}).resume())
    silent.listen(port, '127.0.0.1')
    await once(silent, 'listening')
    await failsWith('timeout')
    silent.close()
    await once(silent, 'close')

    const last = await startReceiver({ port, ticketKeys })
    cleanups.push(last.stop)
    expect(await send()).toMatchObject({ delivered: true })
    expect(last.sessionsResumed()).toBe(0)
  })

  it.each(['127.0.0.1', 'localhost'])(
    'never resume a session with one whose certificate is not for %s',
    async (host) => {
      const receiver = await startReceiver({
        certificate: await makeCertificate({ hosts: ['hooks.example.com'] }),
      })
      const sender = createWebhookSender({
        requestTimeoutMs: 20_000,
        allowedCidrs: loopback,
        extraCertificateAuthorities: [receiver.certificateAuthority],
      })
      cleanups.push(receiver.stop, sender.close)
      const url = `https://${host}:${receiver.port}/`
      const request = {
        url,
        webhookId: 'evt_1',
        body: Buffer.from('{}'),
        secrets: [generateSecret()],
        headers: {},
      }
      for (let attempt = 0; attempt < 3; attempt++) {
        expect(await sender.send(request)).toMatchObject({ errorCode: 'tls_invalid_certificate' })
      }
      expect(receiver.sessionsResumed()).toBe(0)
      expect(receiver.requests).toHaveLength(0)
    },
  )
})

describe('TLS sessions', () => {
  it('are kept for a bounded number of receivers, those with the latest updates', () => {
    const sessions = createTlsSessions(2)
    for (const receiver of ['a', 'b', 'a', 'c']) sessions.keep(receiver, Buffer.from(receiver))
    expect(['a', 'b', 'c'].filter((receiver) => sessions.of(receiver))).toEqual(['a', 'c'])
    sessions.forget('a')
    expect(sessions.of('a')).toBeUndefined()
  })
})

describe('Retry-After', () => {
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT'

  it.each([
    ['120', 120],
    [' 7 ', 7],
    ['0', 0],
    ['86400', 86_400],
    ['86401', 86_400],
    ['9'.repeat(400), 86_400],
    ['Sun, 06 Nov 1994 08:51:37 GMT', 120],
    ['Sunday, 06-Nov-94 08:51:37 GMT', 120],
    ['Sun Nov  6 08:51:37 1994', 120],
    ['Sun, 06 Nov 1994 08:00:00 GMT', 0],
    ['Tue, 06 Nov 2094 08:00:00 GMT', 86_400],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['soon', undefined],
    ['10 seconds', undefined],
    ['Sun, 06 Nov 1994 08:51:37', undefined],
    ['Sun, 06 Nov 1994 28:99:37 GMT', undefined],
    ['1994-11-06T08:51:37Z', undefined],
    [undefined, undefined],
  ])('[S14] %j means %j seconds', (text, seconds) => {
    expect(readRetryAfter(text, date)).toBe(seconds)
  })

  it('[S14] as a date is read by our own clock where the receiver sends none', () => {
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
    expect(readRetryAfter(inAnHour, undefined)).toBeGreaterThan(3_500)
    expect(readRetryAfter(inAnHour, undefined)).toBeLessThanOrEqual(3_600)
    expect(readRetryAfter(inAnHour, 'nonsense')).toBeGreaterThan(3_500)
  })

  it.each([
    [429, 30],
    [503, 30],
    [500, undefined],
    [302, undefined],
    [200, undefined],
  ])('[S14] with status %i is %j', async (status, seconds) => {
    const { sender, request } = await start(() => ({ status, headers: { 'retry-after': '30' } }))
    const outcome = await sender.send(request)
    expect('retryAfterS' in outcome ? outcome.retryAfterS : undefined).toBe(seconds)
  })
})

it('the duration is that of the exchange, in whole milliseconds', async () => {
  const { sender, request } = await start(() => ({ delayMs: 50 }))
  const startedAt = performance.now()
  const { durationMs } = await sender.send(request)
  expect(Number.isInteger(durationMs)).toBe(true)
  expect(durationMs).toBeGreaterThanOrEqual(49)
  expect(durationMs).toBeLessThanOrEqual(performance.now() - startedAt + 1)
})
