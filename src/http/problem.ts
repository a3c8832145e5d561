import { type ErrorCode, errorCatalogue, type SagapostError } from '../errors/index.js'

/** Problem details (RFC 9457) with a stable `code` and, for an invalid request, the errors per field. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  errors?: FieldError[]
  [extension: string]: unknown
}

export interface FieldError {
  /** As a path: `headers.x-tenant`, `events[3].payload`. */
  field: string
  detail: string
}

/** The status of each code. A code missing here is a bug and becomes a 500. */
export const statusByCode = {
  request_malformed: 400,
  request_invalid: 400,
  query_invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  event_not_found: 404,
  subscription_not_found: 404,
  delivery_not_found: 404,
  dead_letter_not_found: 404,
  saga_not_found: 404,
  idempotency_conflict: 409,
  subscription_not_verified: 409,
  subscription_deleted: 409,
  subscription_inactive: 409,
  delivery_not_cancellable: 409,
  subscription_secret_invalid: 409,
  subscription_secret_removed: 409,
  saga_not_cancellable: 409,
  saga_not_awaiting_operator: 409,
  signal_conflict: 409,
  idempotency_key_required: 400,
  request_too_large: 413,
  payload_too_large: 413,
  content_type_unsupported: 415,
  event_type_invalid: 422,
  event_type_reserved: 422,
  event_invalid: 422,
  idempotency_key_invalid: 422,
  payload_invalid: 422,
  callback_url_not_https: 422,
  callback_url_invalid: 422,
  callback_url_blocked: 422,
  subscription_invalid: 422,
  verification_failed: 422,
  requeue_filter_empty: 422,
  requeue_too_large: 422,
  saga_resolution_invalid: 422,
  signal_invalid: 422,
  value_too_long: 422,
  too_many_bad_keys: 429,
  too_much_at_once: 429,
  internal_error: 500,
  overloaded: 503,
  idempotency_key_busy: 503,
  database_unreachable: 503,
  database_timed_out: 503,
  database_read_only: 503,
  database_full: 503,
  database_locks_exhausted: 503,
  partition_missing: 503,
  permission_denied: 503,
  schema_outdated: 503,
} as const satisfies Partial<Record<ErrorCode, number>>

export type HttpErrorCode = keyof typeof statusByCode

export function isHttpErrorCode(code: ErrorCode): code is HttpErrorCode {
  return code in statusByCode
}

export function problem(
  code: HttpErrorCode,
  detail: string,
  extensions: { errors?: FieldError[]; [extension: string]: unknown } = {},
): Problem {
  const { title } = errorCatalogue[code]
  return {
    type: `urn:sagapost:error:${code}`,
    title,
    status: statusByCode[code],
    detail,
    code,
    ...extensions,
  }
}

/** An error response, thrown so that all refusals take the same path. */
export class ProblemError extends Error {
  readonly problem: Problem
  readonly headers: Readonly<Record<string, string>>

  constructor(given: Problem, headers: Record<string, string> = {}) {
    super(given.detail)
    this.problem = given
    this.headers = headers
  }
}

export function refuse(code: HttpErrorCode, detail: string, errors?: FieldError[]): ProblemError {
  return new ProblemError(problem(code, detail, errors ? { errors } : {}))
}

export function refuseField(code: HttpErrorCode, name: string, detail: string): ProblemError {
  const field = nameField(name)
  return refuse(code, `${field}: ${detail}`, [{ field, detail }])
}

/** Longer than any known name, so that an error does not repeat a body that is one long name. */
const FIELD_CHARACTERS_MAX = 100

export function nameField(name: string): string {
  return name.length > FIELD_CHARACTERS_MAX ? `${name.slice(0, FIELD_CHARACTERS_MAX)}…` : name
}

export function fromSagapostError(error: SagapostError): Problem {
  return isHttpErrorCode(error.code)
    ? problem(error.code, error.message)
    : problem('internal_error', errorCatalogue.internal_error.title)
}
