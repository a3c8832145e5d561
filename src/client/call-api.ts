import { SagapostApiError } from './api-error.js'
import type { paths } from './api-types.js'
import { type CallOptions, type Fetch, type PreparedRequest, sendRequest } from './send-request.js'

const TIMEOUT_MS = 30_000
const RETRIES = 3

type Method = 'get' | 'post' | 'patch' | 'delete'

/** The paths of the OpenAPI document that take this method. */
type PathWith<M extends Method> = {
  [Path in keyof paths]: paths[Path][M] extends { responses: unknown } ? Path : never
}[keyof paths]

/** The success response of a call, from the OpenAPI document. */
type Success<Operation> = Operation extends { responses: infer Responses }
  ? {
      [Status in keyof Responses]: Status extends 200 | 201 | 202
        ? Responses[Status] extends { content: { 'application/json': infer Body } }
          ? Body
          : never
        : never
    }[keyof Responses]
  : never

type QueryValue = string | number | boolean | Date | undefined

interface Call extends CallOptions {
  /** Replaces `{id}`. */
  id?: string
  query?: Readonly<Record<string, QueryValue>>
  /** JSON text. */
  body?: string
  headers?: Readonly<Record<string, string | undefined>>
  /** True for a POST that is safe to repeat: it carries a key or is idempotent. */
  repeatable?: boolean
}

interface Answer<Body> {
  body: Body
  /** The raw text, for values that parsing would change. */
  text: string
}

/** Calls one path of the OpenAPI document; the result has the documented type. */
export type CallApi = <M extends Method, Path extends PathWith<M>>(
  method: M,
  path: Path,
  call?: Call,
) => Promise<Answer<Success<paths[Path][M]>>>

export interface ApiAccess extends Pick<CallOptions, 'timeoutMs' | 'retries'> {
  baseUrl: string
  apiKey: string
  fetch: Fetch
}

export function createCallApi({ baseUrl, apiKey, fetch, ...defaults }: ApiAccess): CallApi {
  const base = readBaseUrl(baseUrl)
  // Other characters are invalid in a header, and fetch would report a failed connection.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new TypeError('apiKey must be printable ASCII without spaces')

  return async (method, path, call = {}) => {
    const request: PreparedRequest = {
      method: method.toUpperCase(),
      url: base + fillPath(path, call.id) + writeQuery(call.query),
      headers: writeHeaders({ authorization: `Bearer ${apiKey}`, ...call.headers }, call.body !== undefined),
      body: call.body,
      repeatable: call.repeatable ?? method !== 'post',
    }
    const text = await sendRequest(fetch, request, {
      signal: call.signal,
      timeoutMs: call.timeoutMs ?? defaults.timeoutMs ?? TIMEOUT_MS,
      retries: call.retries ?? defaults.retries ?? RETRIES,
    })
    return { body: readBody(text), text }
  }
}

function readBaseUrl(baseUrl: string): string {
  const url = new URL(baseUrl)
  if (!/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new TypeError('baseUrl must be an http(s) URL without credentials, query or fragment')
  }
  return url.origin + url.pathname.replace(/\/+$/, '')
}

function fillPath(path: string, id = ''): string {
  if (!path.includes('{id}')) return path
  // These would change the path; the server validates everything else.
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`"${id}" is not an id`)
  return path.replace('{id}', encodeURIComponent(id))
}

function writeQuery(query: Call['query'] = {}): string {
  const pairs = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) pairs.set(name, value instanceof Date ? value.toISOString() : String(value))
  }
  return pairs.size === 0 ? '' : `?${pairs}`
}

function writeHeaders(given: NonNullable<Call['headers']>, hasBody: boolean): Headers {
  const headers = new Headers({ accept: 'application/json, application/problem+json' })
  if (hasBody) headers.set('content-type', 'application/json')
  for (const [name, value] of Object.entries(given)) if (value !== undefined) headers.set(name, value)
  return headers
}

function readBody<Body>(text: string): Body {
  try {
    return (text === '' ? undefined : JSON.parse(text)) as Body
  } catch {
    const detail = 'The response of the server is not JSON; check baseUrl'
    throw new SagapostApiError({ status: 200, code: 'server_answer_unexpected', detail })
  }
}
