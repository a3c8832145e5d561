/** An error response of the server, or no response. */
export class ApiProblem extends Error {
  readonly status: number
  readonly code: string
  readonly extensions: Readonly<Record<string, unknown>>

  constructor(status: number, code: string, detail: string, extensions: Record<string, unknown> = {}) {
    super(detail)
    this.status = status
    this.code = code
    this.extensions = extensions
  }
}

export type Query = Readonly<Record<string, string | number | null | undefined>>

interface CallOptions {
  query?: Query
  body?: unknown
  /** Only to sign in; afterwards the browser sends the session cookie. */
  key?: string
  idempotencyKey?: string
}

export const SIGNED_OUT = 'sagapost-signed-out'

/** The text of a response; payloads are shown byte for byte, so they are never parsed. */
export async function callForText(method: string, path: string, options: CallOptions = {}): Promise<string> {
  const { query = {}, body, key, idempotencyKey } = options
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(name, String(value))
  }
  const asked = search.size > 0 ? `${path}?${search}` : path
  const response = await fetch(asked, {
    method,
    headers: {
      // Proves that the request comes from this page: no other origin can send it.
      'sagapost-page': '1',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ApiProblem(0, 'unreachable', 'The server cannot be reached.')
  })
  const text = await response.text()
  if (response.ok) return text
  throw toProblem(response.status, text, key === undefined)
}

export async function callApi<Answer>(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const text = await callForText(method, path, options)
  return (text === '' ? undefined : JSON.parse(text)) as Answer
}

function toProblem(status: number, text: string, hadSession: boolean): ApiProblem {
  if (status === 401 && hadSession) window.dispatchEvent(new Event(SIGNED_OUT))
  try {
    const { code, detail, ...extensions } = JSON.parse(text)
    return new ApiProblem(status, code, detail, extensions)
  } catch {
    return new ApiProblem(status, `http_${status}`, 'The response did not come from Sagapost.')
  }
}
