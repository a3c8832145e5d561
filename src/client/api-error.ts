import type { components } from './api-types.js'

type Problem = components['schemas']['Problem']

/** The server answered, and not with success. */
export class SagapostApiError extends Error {
  readonly status: number
  /** Stable; docs/reference/errors.md lists them. `server_answer_unexpected` when something else answered. */
  readonly code: string
  readonly detail: string
  /** Which fields of the request are wrong, when that is why. */
  readonly errors: readonly { field: string; detail: string }[]
  /** How long to wait before asking again, when the server said so. */
  readonly retryAfterS: number | undefined
  /** The whole of the problem details, with what the code brings along. */
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

/** No answer came: the server could not be reached, hung up, or took too long. */
export class SagapostConnectionError extends Error {
  readonly code: 'server_unreachable' | 'server_timed_out'

  constructor(code: SagapostConnectionError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'SagapostConnectionError'
    this.code = code
  }
}

/** What an answer that is no success means. Proxies in between answer with pages of their own. */
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
