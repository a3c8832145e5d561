import { SagapostApiError, SagapostConnectionError } from '../client/index.js'
import { SagapostError } from '../errors/index.js'

export interface Failure {
  code: string
  detail: string
  status?: number
  errors?: SagapostApiError['errors']
}

const hints: Readonly<Record<string, string>> = {
  server_unreachable: 'start it with npm start or sagapost serve, or set SAGAPOST_URL',
  unauthenticated: 'set SAGAPOST_API_KEY; create one with sagapost keys create',
  server_answer_unexpected: 'check SAGAPOST_URL',
}

/** The failure and its remedy in one line; undefined for an unexpected error, which is a bug. */
export function explainFailure(error: unknown): Failure | undefined {
  if (error instanceof SagapostError) return { code: error.code, detail: error.message }
  if (error instanceof SagapostConnectionError) return withHint({ code: error.code, detail: error.message })
  if (!(error instanceof SagapostApiError)) return undefined
  const { code, status, errors } = error
  const detail = error.detail.replace(/: is baseUrl right\?$/, '')
  // The detail names only the first field.
  const more = errors.slice(1).map(({ field, detail: why }) => `; ${field}: ${why}`)
  return withHint({
    code,
    detail: detail + more.join(''),
    status,
    ...(errors.length > 0 ? { errors } : {}),
  })
}

function withHint(failure: Failure): Failure {
  const hint = hints[failure.code]
  return hint ? { ...failure, detail: `${failure.detail} (${hint})` } : failure
}
