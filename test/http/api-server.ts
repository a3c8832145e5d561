import { randomBytes } from 'node:crypto'
import { type Logger, pino } from 'pino'
import { afterAll, beforeAll } from 'vitest'
import { type HttpServer, startApi } from '../../src/http/index.js'
import type { StartApiOptions } from '../../src/http/server/start-api.js'
import type { TestDatabase } from '../support/database.js'

export const adminKey = 'the-administrators-key-of-the-environment'

export interface Answer {
  status: number
  headers: Headers
  text: string
  /** The body as JSON; undefined when it is empty. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  body: any
}

export interface CallOptions {
  key?: string | null
  /** An object is sent as JSON, anything else as it is. */
  body?: unknown
  headers?: Record<string, string>
}

export interface TestApi {
  readonly url: string
  readonly server: HttpServer
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
}

/** The API as `serve` starts it: listening, on pools under their roles. */
export function useApi(
  database: TestDatabase,
  options: () => Partial<StartApiOptions> = () => ({}),
): TestApi {
  let server: HttpServer
  beforeAll(async () => {
    server = await startTestApi(database.url, options())
  })
  afterAll(() => server.stop())
  return {
    get url() {
      return server.url
    },
    get server() {
      return server
    },
    call: (method, path, callOptions) => call(server.url + path, method, callOptions),
  }
}

const masterKey = randomBytes(32)

export const testConfig: StartApiOptions['config'] = {
  host: '127.0.0.1',
  port: 0,
  apiKey: adminKey,
  masterKey,
  preparedStatements: true,
  allowedCidrs: '127.0.0.0/8',
  trustedProxies: '',
  requireIdempotencyKey: false,
  requestTimeoutMs: 10_000,
}

export function startTestApi(
  databaseUrl: string,
  options: Partial<StartApiOptions> = {},
): Promise<HttpServer> {
  return startApi({
    databaseUrl,
    config: testConfig,
    log: silent(),
    ...options,
  })
}

export function silent(): Logger {
  return pino({ level: 'silent' })
}

/** All of it; of a stream, which does not end by itself, the first event. */
async function readText(response: Response): Promise<string> {
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response.text()
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (/^data: .*\n\n/m.test(text)) break
  }
  return text
}

export async function call(
  url: string,
  method: string,
  { key = adminKey, body, headers = {} }: CallOptions = {},
): Promise<Answer> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
  })
  const text = await readText(response)
  const isJson = /json/.test(response.headers.get('content-type') ?? '')
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  }
}
