import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, expect } from 'vitest'
import { errorCatalogue } from '../../src/errors/index.js'
import type { HttpServer } from '../../src/http/index.js'
import type { StartApiOptions } from '../../src/http/server/start-api.js'
import type { TestDatabase } from '../support/database.js'
import { type Answer, adminKey, type CallOptions, call, startTestApi } from './api-server.js'

const WARNING = 40

export interface WatchedApi {
  readonly url: string
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** The server answers a normal request, and has no line in its log that would wake anybody. */
  expectUnharmed(): Promise<void>
  /** A clear refusal: 4xx, as a problem, with a code of the catalogue, and nothing of the inside. */
  expectRefusal(answer: Answer): void
  /** Writes to a bare socket and reads until the server closes it. */
  exchange(bytes: string | Buffer, options?: ExchangeOptions): Promise<RawAnswer>
}

interface ExchangeOptions {
  /** Ends our half after the bytes. */
  end?: boolean
  /** Breaks the connection after the bytes. */
  reset?: boolean
  /** Written again and again until the server closes. */
  drip?: string
}

interface RawAnswer {
  status: number | undefined
  body: string
  /** The server let the connection go, both ways. */
  closed: boolean
}

/** A listening API whose log is read. */
export function useWatchedApi(
  database: TestDatabase,
  options: () => Partial<StartApiOptions> = () => ({}),
): WatchedApi {
  let server: HttpServer
  const lines: { level: number; msg: string; err?: { stack?: string } }[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  beforeAll(async () => {
    server = await startTestApi(database.url, { log: pino({ level: 'info' }, sink), ...options() })
  })
  afterAll(() => server.stop())

  const api: WatchedApi = {
    get url() {
      return server.url
    },
    call: (method, path, callOptions) => call(server.url + path, method, callOptions),
    async expectUnharmed() {
      const answer = await api.call('POST', '/v1/events', { body: { type: 'unharmed', payload: 1 } })
      expect(answer.status).toBe(202)
      expect(
        lines.splice(0).filter(({ level, err }) => level >= WARNING || err?.stack !== undefined),
      ).toEqual([])
    },
    expectRefusal({ status, body, text, headers }) {
      expect([status, text.slice(0, 200)]).toEqual([expect.toSatisfy(isClientError), expect.any(String)])
      expect(headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
      expect(Object.keys(errorCatalogue)).toContain(body.code)
      expect(body.status).toBe(status)
      // Whole words: an id that is repeated to the caller may hold any three letters.
      expect(text).not.toMatch(/\n\s+at |node_modules|\.[jt]s:\d+:\d|SELECT |\bzod(error)?\b/i)
    },
    exchange: (bytes, exchangeOptions) => exchange(server.url, bytes, exchangeOptions),
  }
  return api
}

function isClientError(status: number): boolean {
  return status >= 400 && status < 500
}

const DRIP_MS = 20

function exchange(url: string, bytes: string | Buffer, { end, reset, drip }: ExchangeOptions = {}) {
  return new Promise<RawAnswer>((resolve) => {
    const { hostname, port } = new URL(url)
    // Our own half stays open until the server has let go of it.
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const chunks: Buffer[] = []
    let timer: NodeJS.Timeout | undefined
    socket.on('connect', () => {
      socket.write(bytes, () => {
        if (reset) socket.resetAndDestroy()
        else if (end) socket.end()
        else if (drip !== undefined) timer = setInterval(() => socket.write(drip), DRIP_MS)
      })
    })
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('end', () => {
      if (drip === undefined) socket.end()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      clearInterval(timer)
      const text = Buffer.concat(chunks).toString('latin1')
      const [head = '', ...rest] = text.split('\r\n\r\n')
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]
      resolve({ status: status ? Number(status) : undefined, body: rest.join('\r\n\r\n'), closed: true })
    })
  })
}

/** The head of a request with the administrator's key, ready for a body. */
export function head(line: string, headers: Record<string, string> = {}): string {
  const all = {
    host: 'x',
    authorization: `Bearer ${adminKey}`,
    'content-type': 'application/json',
    ...headers,
  }
  return `${line} HTTP/1.1\r\n${Object.entries(all)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')}\r\n`
}
