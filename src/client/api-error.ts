import type { components } from './api-types.js'

type Problem = components['schemas']['Problem']

/** The server responded with an error. */
export class SagapostApiError extends Error {
  readonly status: number
  /** Stable; listed in docs/reference/errors.md. `server_answer_unexpected` when the response is not from Sagapost. */
  readonly code: string
  readonly detail: string
  /** The invalid fields of the request, if any. */
  readonly errors: readonly { field: string; detail: string }[]
  /** How long to wait before a retry, if the server sent Retry-After. */
  readonly retryAfterS: number | undefined
  /** The complete problem details, with the fields specific to the code. */
  readonly problem: Readonly<Problem & Record<string, unknown>> | undefined

  constructor(given: {
    status: number
    code: string
    detail: string
    retryAfterS?: number | undefined
    problem?: Problem | undefined
  }) {
    super(`${given.detail} [${given.code}]`)
    this.name = 'SagapostApiError'
    this.status = given.status
    this.code = given.code
    this.detail = given.detail
    this.errors = given.problem?.errors ?? []
    this.retryAfterS = given.retryAfterS
    this.problem = given.problem
  }
}

/** No response: the server was unreachable, closed the connection, or timed out. */
export class SagapostConnectionError extends Error {
  readonly code: 'server_unreachable' | 'server_timed_out'

  constructor(code: SagapostConnectionError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SagapostConnectionError'
    this.code = code
  }
}

/** Interprets an error response, which may be a page from a proxy. */
export function explainAnswer(answer: { status: number; text: string; retryAfterS: number | undefined }) {
  const { status, text, retryAfterS } = answer
  const problem = readProblem(text)
  if (problem) {
    const { code, detail } = problem
    return new SagapostApiError({ status, code, detail, retryAfterS, problem })
  }
  const isRedirect = status === 0 || (status >= 300 && status < 400)
  const detail = isRedirect
    ? 'The server answered with a redirect, which is not followed; check baseUrl'
    : `The server answered with ${status} but not with a Sagapost error; check baseUrl`
  return new SagapostApiError({ status, code: 'server_answer_unexpected', detail, retryAfterS })
}

function readProblem(text: string): Problem | undefined {
  try {
    const value = JSON.parse(text) as Partial<Problem> | null
    return typeof value?.code === 'string' && typeof value.detail === 'string'
      ? (value as Problem)
      : undefined
  } catch {
    return undefined
  }
}
