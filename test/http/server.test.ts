import { connect, createServer, type Server, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildOpenApi } from '../../scripts/build-openapi.js'
import { errorCatalogue } from '../../src/errors/index.js'
import { statusByCode } from '../../src/http/problem.js'
import { useDatabase } from '../support/database.js'
import { adminKey, call, startTestApi, useApi } from './api-server.js'

const database = useDatabase()
const api = useApi(database)

// biome-ignore lint/suspicious/noExplicitAny: a test walks through the whole document
type Any = any

/** What a bare socket gets for these bytes. */
function exchange(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const { hostname, port } = new URL(api.url)
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let text = ''
    socket.setEncoding('utf8').on('data', (data) => {
      text += data
    })
    // A server that hangs up on what it will not read may reset the connection behind its answer.
    socket.on('close', () => resolve(text)).on('error', () => {})
  })
}

describe('every answer', () => {
  it.each([
    ['GET', '/nowhere', 404, 'not_found'],
    ['PUT', '/v1/events', 404, 'not_found'],
    ['GET', '/v1/events/batch/x', 404, 'not_found'],
    ['POST', '/healthz', 404, 'not_found'],
    ['GET', '/v1/events/%zz', 404, 'not_found'],
    ['GET', `/v1/events/${'1'.repeat(300)}`, 404, 'not_found'],
    ['GET', '/v1/events?limit=x', 400, 'request_invalid'],
    ['POST', '/v1/events', 400, 'request_malformed'],
  ])(
    '[O1] %s %s is a problem with a stable code and the security headers',
    async (method, path, status, code) => {
      const answer = await api.call(method, path)
      expect(answer).toMatchObject({
        status,
        body: {
          type: `urn:sagapost:error:${code}`,
          title: errorCatalogue[code as keyof typeof errorCatalogue].title,
          status,
          detail: expect.any(String),
          code,
        },
      })
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        'content-type': 'application/problem+json; charset=utf-8',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      })
    },
  )

  it('[O1] input that is not HTTP gets 400 and a closed connection', async () => {
    const text = await exchange('nonsense\r\n\r\n')
    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(JSON.parse(text.split('\r\n\r\n')[1] ?? '')).toMatchObject({ code: 'request_malformed' })
    const large = await exchange(`GET /healthz HTTP/1.1\r\nHost: x\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`)
    expect(large).toMatch(/^HTTP\/1\.1 400 /)
    const short = await exchange(
      `POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminKey}\r\nContent-Type: application/json\r\n` +
        'Content-Length: 2\r\nConnection: close\r\n\r\n{}{}{}',
    )
    expect(short).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('the OpenAPI document', () => {
  let document: Any
  beforeAll(async () => {
    document = await buildOpenApi()
  })

  it('[O1] is built without a database, and is what the server answers with', async () => {
    const served = (await api.call('GET', '/openapi.json', { key: null })).body
    expect(document.openapi).toBe('3.1.0')
    // The test server has no metrics.
    const { '/metrics': metrics, ...paths } = document.paths
    expect(metrics).toBeDefined()
    expect(served).toEqual({ ...document, paths })
  })

  it('[O1] every reference resolves, every operation has a name, an answer and its errors', async () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, to = '']) => to)
    expect(references.length).toBeGreaterThan(0)
    for (const to of references) {
      const found = to
        .replace('#/', '')
        .split('/')
        .reduce((at, part) => at?.[part], document)
      expect([to, typeof found]).toEqual([to, 'object'])
    }
    const ids = new Set<string>()
    for (const [path, operations] of Object.entries<Record<string, Any>>(document.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        expect(operation.operationId, `${method} ${path}`).toEqual(expect.any(String))
        ids.add(operation.operationId)
        expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true)
        if (path.startsWith('/v1')) {
          expect(Object.keys(operation.responses)).toEqual(
            expect.arrayContaining(['401', '403', '429', '503']),
          )
        }
        const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
        const declared = (operation.parameters ?? []).filter(
          ({ in: where }: { in: string }) => where === 'path',
        )
        expect(declared.map(({ name }: { name: string }) => name)).toEqual(inPath)
        for (const [status, response] of Object.entries<Any>(operation.responses)) {
          const problem = response.content?.['application/problem+json']
          for (const [code, example] of Object.entries<Any>(problem?.examples ?? {})) {
            expect([code, example.value.status, example.value.code]).toEqual([code, Number(status), code])
          }
        }
      }
    }
    expect(ids.size).toBe(Object.values<object>(document.paths).flatMap((each) => Object.keys(each)).length)
    expect(Object.keys(document.components.schemas).filter((name) => name.endsWith('Input'))).toEqual([])
  })

  it('[O1] no status except those of the contract', () => {
    const contract = [400, 401, 403, 404, 409, 413, 415, 422, 429, 503]
    const { internal_error: _, ...codes } = statusByCode
    expect([...new Set(Object.values(codes))].filter((status) => !contract.includes(status))).toEqual([])
  })
})

describe('the page of the documentation', () => {
  it('[O1] loads nothing from other hosts', async () => {
    const page = await api.call('GET', '/docs', { key: null })
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(page.text).not.toMatch(/https?:|\/\/[a-z]/i)
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self';")
    const scripts = [...page.text.matchAll(/src="([^"]+)"/g)].map(([, src]) => src)
    expect(scripts).toEqual(['docs/scalar.js', 'docs/start.js'])
    for (const src of scripts) {
      const script = await api.call('GET', `/${src}`, { key: null })
      expect([script.status, script.headers.get('content-type')]).toEqual([
        200,
        'text/javascript; charset=utf-8',
      ])
      expect(script.text.length).toBeGreaterThan(50)
    }
    expect((await api.call('GET', '/docs/start.js', { key: null })).text).toContain('withDefaultFonts: false')
  })
})

describe('when the database is unreachable', () => {
  let proxy: Server
  let isOpen = true
  const sockets = new Set<Socket>()
  beforeAll(async () => {
    const to = new URL(database.url)
    proxy = createServer((near) => {
      if (!isOpen) {
        near.destroy()
        return
      }
      const far = connect(Number(to.port), to.hostname)
      for (const socket of [near, far]) {
        sockets.add(socket)
        socket
          .on('error', () => {})
          .on('close', () => {
            near.destroy()
            far.destroy()
            sockets.delete(socket)
          })
      }
      near.pipe(far).pipe(near)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => new Promise((resolve) => proxy.close(resolve)))

  const through = () => {
    const url = new URL(database.url)
    url.hostname = '127.0.0.1'
    url.port = String((proxy.address() as { port: number }).port)
    return url.href
  }

  it('[O7] every call is 503 with Retry-After, health stays up, and afterwards everything works again', async () => {
    const server = await startTestApi(through())
    const ask = (method: string, path: string, body?: unknown) => call(server.url + path, method, { body })
    const event = { type: 'away', payload: 1 }
    expect((await ask('POST', '/v1/events', event)).status).toBe(202)

    isOpen = false
    for (const socket of sockets) socket.destroy()
    const calls = [
      ['POST', '/v1/events', event],
      ['POST', '/v1/events', { ...event, idempotencyKey: 'away' }],
      ['POST', '/v1/events/batch', { events: [event, { ...event, idempotencyKey: 'away' }] }],
      ['GET', '/v1/events'],
      ['GET', '/v1/events/1'],
      ['POST', '/v1/subscriptions', { eventType: 't', callbackUrl: 'https://receiver.example' }],
      ['GET', '/v1/subscriptions/1'],
      ['DELETE', '/v1/subscriptions/1'],
      ['POST', '/v1/subscriptions/1/verify'],
      ['GET', '/v1/deliveries/1'],
      ['GET', '/v1/dead-letters'],
      ['POST', '/v1/dead-letters/1/requeue'],
    ] as const
    for (const [method, path, body] of calls) {
      const answer = await ask(method, path, body)
      expect([path, answer.status, answer.body.code]).toEqual([path, 503, 'database_unreachable'])
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
    }
    const unknownKey = await call(`${server.url}/v1/events`, 'GET', { key: 'spk_whoever' })
    expect(unknownKey.status).toBe(503)
    expect((await ask('GET', '/healthz')).status).toBe(200)
    expect(await ask('GET', '/readyz')).toMatchObject({ status: 503, body: { status: 'not_ready' } })

    isOpen = true
    expect((await ask('POST', '/v1/events', event)).status).toBe(202)
    await expect.poll(async () => (await ask('GET', '/readyz')).status).toBe(200)
    await server.stop()
    const { rows } = await database.pool.query(`SELECT FROM sagapost.events WHERE event_type = 'away'`)
    expect(rows).toHaveLength(2)
  })
})

describe('stopping', () => {
  it('[O2] answers the requests that are under way, and takes no new ones', async () => {
    const server = await startTestApi(database.url)
    const holder = await database.pool.connect()
    await holder.query('BEGIN')
    await holder.query('LOCK TABLE sagapost.events IN ACCESS EXCLUSIVE MODE')
    const waiting = call(`${server.url}/v1/events`, 'POST', { body: { type: 'last', payload: 1 } })
    await expect
      .poll(async () => {
        const { rowCount } = await database.pool.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
        return rowCount
      })
      .toBe(1)
    const stopped = server.stop()
    await expect.poll(() => call(`${server.url}/healthz`, 'GET').catch(() => 'refused')).toBe('refused')
    await holder.query('ROLLBACK')
    holder.release()
    const answer = await waiting
    expect(answer).toMatchObject({ status: 202, body: { type: 'last' } })
    await stopped
    const { rowCount } = await database.pool.query(`SELECT FROM sagapost.events WHERE event_type = 'last'`)
    expect(rowCount).toBe(1)
  })
})

describe('any body to any call', () => {
  it('[O3] never causes a 5xx, nor reveals internals', async () => {
    const { body } = await api.call('POST', '/v1/subscriptions', {
      body: { eventType: 'fuzz', callbackUrl: 'https://receiver.example/' },
    })
    const id = body.id
    const field = fc.constantFrom(
      'eventType',
      'callbackUrl',
      'maxAttempts',
      'headers',
      'scheme',
      'active',
      'overlapMs',
      '__proto__',
    )
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.dictionary(field, fc.jsonValue()).map((value) => JSON.stringify(value)),
      fc
        .record({
          eventType: fc.string(),
          callbackUrl: fc.webUrl(),
          headers: fc.dictionary(fc.string(), fc.string()),
        })
        .map((value) => JSON.stringify(value)),
      fc
        .integer({ min: 1, max: 100_000 })
        .map((depth) => `{"headers":${'['.repeat(depth)}${']'.repeat(depth)}}`),
    )
    await fc.assert(
      fc.asyncProperty(
        hostile,
        fc.constantFrom(
          ['POST', '/v1/subscriptions'] as const,
          ['PATCH', `/v1/subscriptions/${id}`] as const,
          ['POST', `/v1/subscriptions/${id}/rotate-secret`] as const,
          ['POST', '/v1/dead-letters/1/requeue'] as const,
        ),
        async (text, [method, path]) => {
          const answer = await api.call(method, path, { body: text })
          expect(answer.status).toBeLessThan(500)
          expect(answer.text).not.toMatch(/\n\s+at |node_modules|\.ts:/)
        },
      ),
      { numRuns: 300 },
    )
  })
})
