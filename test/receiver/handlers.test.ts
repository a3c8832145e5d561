import { createServer } from 'node:http'
import { connect } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  expressHandler,
  fastifyPlugin,
  fetchHandler,
  nodeHandler,
  type WebhookEvent,
  WebhookVerificationError,
} from '../../src/receiver/index.js'
import { formatSecret, generateSecret, publicKeyOf } from '../../src/webhook/index.js'
import { type Application, frameworks, type Options } from './frameworks.js'
import { challengeBody, nowS, type SignedRequest, signIndependently, signRequest } from './signed-request.js'

const signing = generateSecret()
const secret = formatSecret(signing)
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
  vi.restoreAllMocks()
})

const post = (request: SignedRequest) => ({
  method: 'POST',
  headers: request.headers,
  body: new Uint8Array(request.body),
})

const codeOf = (text: string): string => JSON.parse(text).code

describe.each(Object.entries(frameworks))('%s', (name, start) => {
  async function started(options: Partial<Options> = {}) {
    const events: WebhookEvent[] = []
    const errors: unknown[] = []
    const application: Application = await start({
      secret,
      onEvent: (event) => events.push(event),
      onError: (error) => errors.push(error),
      ...options,
    })
    cleanups.push(application.stop)
    return { send: application.send, events, errors }
  }

  it('hands over an event signed by Sagapost, byte for byte, and answers 204', async () => {
    const { send, events, errors } = await started()
    const request = signRequest({ secrets: [signing] })
    const reply = await send(post(request))
    expect([reply.status, reply.text]).toEqual([204, ''])
    expect(events).toEqual([
      {
        kind: 'event',
        id: 'evt_42',
        type: 'order.placed',
        attempt: 2,
        timestamp: new Date(Number(request.headers['webhook-timestamp']) * 1000),
        correlationId: 'checkout-4711',
        payload: { order: 7, total: '12.50 €' },
        body: request.body,
        challenge: undefined,
      },
    ])
    expect(errors).toEqual([])
  })

  it('hands over an event signed by the standardwebhooks package, and one signed by ed25519', async () => {
    const ed25519 = generateSecret('v1a')
    const { send, events } = await started({ secret: [secret, publicKeyOf(ed25519)] })
    expect((await send(post(signIndependently(signing)))).status).toBe(204)
    expect((await send(post(signRequest({ secrets: [ed25519] })))).status).toBe(204)
    expect(events.map(({ id }) => id)).toEqual(['evt_43', 'evt_42'])
  })

  it('finds the secrets of each request by a function', async () => {
    const { send, events, errors } = await started({ secret: async () => [secret] })
    expect((await send(post(signRequest({ secrets: [signing] })))).status).toBe(204)
    expect(events).toHaveLength(1)
    expect(errors).toEqual([])
  })

  it('takes a body in chunks without a length', async () => {
    const { send, events } = await started()
    const request = signRequest({ secrets: [signing] })
    const body = new ReadableStream({
      start(controller) {
        for (const byte of request.body) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    const reply = await send({ method: 'POST', headers: request.headers, body, duplex: 'half' })
    expect(reply.status).toBe(204)
    expect(events[0]?.body.equals(request.body)).toBe(true)
  })

  it('takes a payload of 1 MiB and refuses one byte more, of known length or in chunks', async () => {
    const { send, events } = await started()
    const largest = JSON.stringify('x'.repeat(1024 * 1024 - 2))
    expect((await send(post(signRequest({ secrets: [signing], body: largest })))).status).toBe(204)
    expect(events).toHaveLength(1)
    const larger = signRequest({ secrets: [signing], body: `${largest} ` })
    const chunked = new ReadableStream({
      start(controller) {
        controller.enqueue(new Uint8Array(larger.body))
        controller.close()
      },
    })
    for (const init of [post(larger), { ...post(larger), body: chunked, duplex: 'half' as const }]) {
      const reply = await send(init)
      expect([reply.status, codeOf(reply.text)]).toEqual([413, 'body_too_large'])
    }
    expect(events).toHaveLength(1)
  })

  it('refuses what is larger than a limit of its own', async () => {
    const { send } = await started({ bodyBytesMax: 10 })
    const reply = await send(post(signRequest({ secrets: [signing], body: '"12345678"' })))
    expect(reply.status).toBe(204)
    const larger = await send(post(signRequest({ secrets: [signing], body: '"123456789"' })))
    expect(larger.status).toBe(413)
  })

  it('[U4] answers a signed challenge, and only that', async () => {
    const { send, events } = await started()
    const challenge = { headers: { 'content-type': 'application/json' }, body: challengeBody }
    const reply = await send(post(signRequest({ secrets: [signing], ...challenge })))
    expect([reply.status, reply.text]).toEqual([200, '{"challenge":"Jx2-challenge"}'])
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/)
    const stranger = await send(post(signRequest({ secrets: [generateSecret()], ...challenge })))
    expect(stranger.status).toBe(401)
    expect(stranger.text).not.toContain('Jx2')
    expect(events).toEqual([])
  })

  it('[U2] answers a test request 204 and hands no event over', async () => {
    const { send, events } = await started()
    const body = '{"type":"sagapost.subscription.test","subscriptionId":"7"}'
    const headers = { 'content-type': 'application/json' }
    expect((await send(post(signRequest({ secrets: [signing], headers, body })))).status).toBe(204)
    expect(events).toEqual([])
  })

  /** Signed when the test runs, which on a slow machine may be minutes after the file was read. */
  const valid = () => signRequest({ secrets: [signing] })
  const withHeaders = (change: (headers: SignedRequest['headers']) => Record<string, string>) => () => {
    const request = valid()
    return { ...request, headers: { ...request.headers, ...change(request.headers) } }
  }
  const unsigned = () => {
    const request = valid()
    const { 'webhook-signature': _, ...headers } = request.headers
    return { ...request, headers }
  }
  it.each<[string, () => SignedRequest, number, string]>([
    ['no signature', unsigned, 401, 'missing_headers'],
    ['another secret', () => signRequest(), 401, 'no_matching_signature'],
    ['another body', () => ({ ...valid(), body: Buffer.from('{"order": 8}') }), 401, 'no_matching_signature'],
    ['another id', withHeaders(() => ({ 'webhook-id': 'evt_43' })), 401, 'no_matching_signature'],
    [
      'another timestamp',
      withHeaders((headers) => ({ 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1) })),
      401,
      'no_matching_signature',
    ],
    [
      'an old timestamp',
      () => signRequest({ secrets: [signing], timestampS: nowS() - 400 }),
      401,
      'timestamp_out_of_range',
    ],
    [
      'a future timestamp',
      () => signRequest({ secrets: [signing], timestampS: nowS() + 400 }),
      401,
      'timestamp_out_of_range',
    ],
    ['no timestamp', withHeaders(() => ({ 'webhook-timestamp': 'now' })), 400, 'bad_timestamp'],
  ])('refuses a request with %s', async (_what, request, status, code) => {
    const { send, events, errors } = await started()
    const reply = await send(post(request()))
    expect([reply.status, codeOf(reply.text)]).toEqual([status, code])
    expect(reply.headers.get('content-type')).toMatch(/^application\/problem\+json/)
    expect(errors).toEqual([expect.objectContaining({ name: 'WebhookVerificationError', code })])
    expect(events).toEqual([])
  })

  it('refuses what is signed but not JSON, and an empty body', async () => {
    const { send, events } = await started()
    for (const body of ['{"order": ', '']) {
      const reply = await send(post(signRequest({ secrets: [signing], body })))
      expect(reply.status).toBeGreaterThanOrEqual(400)
      // Behind a parser of the framework's, that one may be the first to refuse it, in its own words.
      if (!name.includes('parser')) expect([reply.status, codeOf(reply.text)]).toEqual([400, 'bad_payload'])
    }
    expect(events).toEqual([])
  })

  it('answers 405 to other methods', async () => {
    const { send } = await started()
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const reply = await send({ method })
      expect([reply.status, reply.headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it('answers 500 when the handler throws, and passes the reason only to onError', async () => {
    const failure = new Error('no connection to the database of customers')
    const { send, errors } = await started({ onEvent: () => Promise.reject(failure) })
    const reply = await send(post(signRequest({ secrets: [signing] })))
    expect([reply.status, codeOf(reply.text)]).toEqual([500, 'handler_failed'])
    expect(reply.text).not.toContain('customers')
    expect(errors).toEqual([failure])
  })

  it('prints its own errors when onError is missing or throws, and still answers', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    const failure = new Error('no connection')
    const { send } = await started({
      onError: undefined,
      onEvent: () => {
        throw failure
      },
    })
    await send(post(signRequest()))
    expect(printed).not.toHaveBeenCalled()
    expect((await send(post(signRequest({ secrets: [signing] })))).status).toBe(500)
    expect(printed.mock.calls).toEqual([[failure]])
    const other = await started({
      onError: () => {
        throw new Error('no log')
      },
    })
    expect((await other.send(post(signRequest()))).status).toBe(401)
  })

  it('refuses to start with an invalid secret; one that a function returns is a 500', async () => {
    for (const bad of ['', 'nonsense', [], undefined as unknown as string]) {
      await expect(async () => started({ secret: bad })).rejects.toThrow(WebhookVerificationError)
    }
    const { send, errors } = await started({ secret: () => undefined as unknown as string })
    const reply = await send(post(signRequest({ secrets: [signing] })))
    expect([reply.status, codeOf(reply.text)]).toEqual([500, 'bad_secret'])
    expect(errors).toHaveLength(1)
    const { send: sendToNobody } = await started({ secret: () => [] })
    expect((await sendToNobody(post(signRequest({ secrets: [signing] })))).status).toBe(401)
  })
})

describe('a body that was read before', () => {
  it('by express.json() is a 500 with instructions', async () => {
    const errors: unknown[] = []
    const app = express()
    app.use(express.json())
    app.post('/hooks', expressHandler({ secret, onEvent: () => {}, onError: (error) => errors.push(error) }))
    const server = app.listen(0)
    cleanups.push(() => new Promise((resolve) => server.close(resolve)))
    const { port } = server.address() as { port: number }
    const response = await fetch(`http://127.0.0.1:${port}/hooks`, post(signRequest({ secrets: [signing] })))
    expect([response.status, await response.json()]).toEqual([
      500,
      { status: 500, code: 'body_consumed', detail: expect.stringContaining('before express.json()') },
    ])
    expect(errors).toEqual([expect.objectContaining({ code: 'body_consumed' })])
  })

  it('of a fetch request is a 500 with instructions', async () => {
    const request = new Request('https://app.example/hooks', post(signRequest({ secrets: [signing] })))
    await request.json()
    const response = await fetchHandler({ secret, onEvent: () => {}, onError: () => {} })(request)
    expect([response.status, codeOf(await response.text())]).toEqual([500, 'body_consumed'])
  })
})

it('the fastify plugin leaves the parsers and errors of the other routes alone', async () => {
  const app = fastify()
  app.register(fastifyPlugin, { prefix: '/hooks', secret, onEvent: () => {} })
  app.post('/echo', async (request) => request.body)
  cleanups.push(() => app.close())
  const echoed = await app.inject({ method: 'POST', url: '/echo', payload: { order: 7 } })
  expect(echoed.json()).toEqual({ order: 7 })
  const other = await app.inject({
    method: 'POST',
    url: '/echo',
    headers: { 'content-type': 'application/xml' },
    payload: '<order/>',
  })
  expect(other.statusCode).toBe(415)
  for (const url of ['/hooks', '/hooks/']) {
    const { headers, body } = signRequest({ secrets: [signing] })
    expect((await app.inject({ method: 'POST', url, headers, payload: body })).statusCode).toBe(204)
  }
})

it('a handler gets the request that it was called for', async () => {
  const seen: unknown[] = []
  const request = signRequest({ secrets: [signing] })
  const handle = fetchHandler({
    secret: ({ url }) => (url.endsWith('/acme') ? secret : []),
    onEvent: (_event, { url }) => seen.push(url),
  })
  const to = (tenant: string) => handle(new Request(`https://app.example/hooks/${tenant}`, post(request)))
  expect([(await to('acme')).status, (await to('other')).status]).toEqual([204, 401])
  expect(seen).toEqual(['https://app.example/hooks/acme'])
})

/** A sender that writes what it likes to a nodeHandler. */
async function connectToNode() {
  const called = vi.fn()
  const done: Promise<void>[] = []
  const handle = nodeHandler({ secret, onEvent: called, onError: called })
  const server = createServer((request, response) => done.push(handle(request, response)))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => new Promise((resolve) => server.close(resolve)))
  const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
  return { socket, done, called }
}

it('a sender that disconnects is no error and leaves nothing behind', async () => {
  const { socket, done, called } = await connectToNode()
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"order"')
  await expect.poll(() => done.length).toBe(1)
  socket.destroy()
  await Promise.all(done)
  expect(called).not.toHaveBeenCalled()
})

it('a sender that never ends is disconnected', async () => {
  const { socket, done } = await connectToNode()
  const closed = new Promise((resolve) => socket.on('close', resolve))
  socket.on('error', () => {})
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n')
  const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536), Buffer.from('\r\n')])
  const write = () => {
    while (socket.writable && socket.write(chunk));
  }
  socket.on('drain', write)
  write()
  await closed
  await Promise.all(done)
})
