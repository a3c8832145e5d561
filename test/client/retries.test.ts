import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { readRetryAfter, retryDelayMs } from '../../src/client/plan-retry.js'
import { useDatabase } from '../support/database.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'
import { startFlakyProxy } from './flaky-proxy.js'

const database = useDatabase()
const sagapost = useSagapost(database)

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const throughFlakyProxy = async (breaks: number) => {
  const proxy = await startFlakyProxy(sagapost.url, breaks)
  stops.push(proxy.stop)
  return { proxy, client: createClient({ baseUrl: proxy.url, apiKey: adminKey }) }
}

const countOf = async (sql: string, values: unknown[] = []) =>
  (await database.pool.query(sql, values)).rowCount

describe('a connection that is reset after the server has done its work', () => {
  it('[O8, E3] publish stores one event, and reports that it did', async () => {
    const { client, proxy } = await throughFlakyProxy(2)
    const receipt = await client.events.publish({ type: 'retry.one', payload: { n: 1 } })
    expect(proxy.forwarded()).toBe(3)
    expect(receipt).toMatchObject({ type: 'retry.one', duplicate: false })
    expect(await countOf(`SELECT FROM sagapost.events WHERE event_type = 'retry.one'`)).toBe(1)
  })

  it('[O8, E3] publishBatch stores each event once', async () => {
    const { client } = await throughFlakyProxy(1)
    const events = Array.from({ length: 20 }, (_, payload) => ({ type: 'retry.batch', payload }))
    const results = await client.events.publishBatch(events)
    expect(results.map((each) => 'id' in each && each.duplicate)).toEqual(Array(20).fill(false))
    expect(await countOf(`SELECT FROM sagapost.events WHERE event_type = 'retry.batch'`)).toBe(20)
  })

  it('[O8] subscriptions.create creates one subscription, and returns the secret that was stored', async () => {
    const { client } = await throughFlakyProxy(1)
    const callbackUrl = `${sagapost.receiver.url}hooks`
    const created = await client.subscriptions.create({ eventType: 'retry.sub', callbackUrl })
    expect(await countOf(`SELECT FROM sagapost.subscriptions WHERE event_type = 'retry.sub'`)).toBe(1)

    const other = await throughFlakyProxy(1)
    await other.client.subscriptions.rotateSecret(created.id)
    const secrets = 'SELECT FROM sagapost.subscription_secrets WHERE subscription_id = $1'
    expect(await countOf(secrets, [created.id])).toBe(2)
  })

  it('is reported after the last try', async () => {
    const { client, proxy } = await throughFlakyProxy(9)
    await expect(client.events.list({}, { retries: 1 })).rejects.toMatchObject({ code: 'server_unreachable' })
    expect(proxy.forwarded()).toBe(2)
  })

  it('is not retried where a retry would do the work twice', async () => {
    const { client, proxy } = await throughFlakyProxy(9)
    await expect(client.subscriptions.test('1')).rejects.toMatchObject({ code: 'server_unreachable' })
    await expect(client.subscriptions.verify('1')).rejects.toMatchObject({ code: 'server_unreachable' })
    expect(proxy.forwarded()).toBe(2)
  })
})

/** A server of the test's own that answers each request in turn; the last answer is repeated. */
async function startScripted(...answers: ((request: IncomingMessage, response: ServerResponse) => void)[]) {
  const requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body })
    answers[Math.min(requests.length, answers.length) - 1]?.(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stops.push(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  const { port } = server.address() as { port: number }
  const baseUrl = `http://127.0.0.1:${port}/behind/`
  return { requests, baseUrl, client: createClient({ baseUrl, apiKey: 'key' }) }
}

const answer =
  (status: number, body: unknown, headers: Record<string, string> = {}) =>
  (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  }
const busy = (status: number, headers?: Record<string, string>) =>
  answer(status, { type: 'x', title: 'x', status, code: 'overloaded', detail: 'later' }, headers)
const emptyPage = answer(200, { data: [], nextCursor: null })
const silence = () => {}

describe('a server that is busy or away', () => {
  it.each([429, 502, 503, 504])('is retried after %i, with the same key', async (status) => {
    const receipt = { id: '1', type: 'a', createdAt: '2026-01-01T00:00:00Z', duplicate: false }
    const { client, requests } = await startScripted(busy(status), busy(status), answer(202, receipt))
    expect(await client.events.publish({ type: 'a', payload: 1 })).toEqual(receipt)
    expect(requests).toHaveLength(3)
    expect(new Set(requests.map(({ body }) => body)).size).toBe(1)
    expect(JSON.parse(requests[0]?.body ?? '')).toEqual({
      type: 'a',
      payload: 1,
      idempotencyKey: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    expect(requests[0]).toMatchObject({ url: '/behind/v1/events', headers: { authorization: 'Bearer key' } })
  })

  it('is not retried before Retry-After, and not at all when that is past the time-out', async () => {
    const { client, requests } = await startScripted(busy(503, { 'retry-after': '1' }), emptyPage)
    const startedAt = performance.now()
    await client.events.list()
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(995)
    expect(requests).toHaveLength(2)

    const other = await startScripted(busy(429, { 'retry-after': '60' }))
    await expect(other.client.events.list()).rejects.toMatchObject({
      status: 429,
      code: 'overloaded',
      detail: 'later',
      retryAfterS: 60,
    })
    expect(other.requests).toHaveLength(1)
  })

  it.each([400, 401, 404, 409, 422, 500])('is not retried after %i', async (status) => {
    const { client, requests } = await startScripted(busy(status))
    await expect(client.events.list()).rejects.toMatchObject({ status })
    expect(requests).toHaveLength(1)
  })

  it('gives up after the retries, with the last error', async () => {
    const { client, requests } = await startScripted(busy(503))
    await expect(client.deliveries.list({}, { retries: 2 })).rejects.toMatchObject({ status: 503 })
    expect(requests).toHaveLength(3)
  })

  it('a truncated answer counts as no answer', async () => {
    const { client, requests } = await startScripted((_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"data":')
      setImmediate(() => response.destroy())
    }, emptyPage)
    expect(await client.events.list()).toEqual({ data: [], nextCursor: null })
    expect(requests).toHaveLength(2)
  })
})

describe('time-out and abort', () => {
  it('a server that never answers is abandoned after timeoutMs', async () => {
    const { client } = await startScripted(silence)
    await expect(client.events.list({}, { timeoutMs: 50 })).rejects.toMatchObject({
      name: 'SagapostConnectionError',
      code: 'server_timed_out',
    })
  })

  it('a signal ends the request, and the wait before the next, with its own reason', async () => {
    const { client, requests } = await startScripted(silence)
    const during = new AbortController()
    const call = client.events.list({}, { signal: during.signal })
    await expect.poll(() => requests.length).toBe(1)
    during.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')

    const waiting = await startScripted(busy(503, { 'retry-after': '20' }))
    const between = new AbortController()
    const second = waiting.client.events.list({}, { signal: between.signal })
    await expect.poll(() => waiting.requests.length).toBe(1)
    between.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')

    const before = client.events.list({}, { signal: AbortSignal.abort(new Error('never')) })
    await expect(before).rejects.toThrow('never')
    expect([requests.length, waiting.requests.length]).toEqual([1, 1])
  })
})

describe('an answer that is not from Sagapost', () => {
  it('is reported as such, and a redirect is not followed', async () => {
    const page = await startScripted(answer(200, '<html>Welcome</html>', { 'content-type': 'text/html' }))
    await expect(page.client.events.list()).rejects.toMatchObject({ code: 'server_answer_unexpected' })
    const elsewhere = await startScripted(answer(302, '', { location: '/elsewhere' }))
    await expect(elsewhere.client.events.list()).rejects.toMatchObject({
      status: 302,
      code: 'server_answer_unexpected',
    })
    expect(elsewhere.requests).toHaveLength(1)
    const proxy = await startScripted(answer(500, 'Bad gateway'))
    await expect(proxy.client.events.list()).rejects.toMatchObject({ code: 'server_answer_unexpected' })
  })

  it('a custom fetch can be passed', async () => {
    const seen: string[] = []
    const client = createClient({
      baseUrl: 'https://sagapost.example',
      apiKey: 'key',
      fetch: async (url) => {
        seen.push(url)
        return Response.json({ data: [], nextCursor: null })
      },
    })
    await client.subscriptions.list({ eventType: 'a b', active: true })
    expect(seen).toEqual(['https://sagapost.example/v1/subscriptions?eventType=a+b&active=true'])
  })
})

describe('the plan of retries', () => {
  it('doubles up to a limit, is half random, and never comes before Retry-After', () => {
    const longest = [1, 2, 3, 4, 5, 6, 7].map((attempt) => retryDelayMs(attempt, undefined, () => 1))
    expect(longest).toEqual([200, 400, 800, 1600, 3200, 5000, 5000])
    expect(retryDelayMs(3, undefined, () => 0)).toBe(400)
    expect(retryDelayMs(1, 7, () => 1)).toBe(7000)
  })

  it('reads Retry-After as seconds or a date, and nothing else', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    expect(readRetryAfter('12', now)).toBe(12)
    expect(readRetryAfter('Thu, 01 Jan 2026 00:00:30 GMT', now)).toBe(30)
    expect(readRetryAfter('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0)
    for (const text of [null, '', '-1', '1.5', 'soon', 'x 7'])
      expect(readRetryAfter(text, now)).toBeUndefined()
  })
})
