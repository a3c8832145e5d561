import type { FastifyError } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import pg from 'pg'
import { databaseErrorCode, isPoolEnded, type Outage, outageOf } from '../database/index.js'
import { errorCatalogue, SagapostError } from '../errors/index.js'
import {
  type FieldError,
  fromSagapostError,
  nameField,
  type Problem,
  ProblemError,
  problem,
} from './problem.js'

/** Maps any error to a response. An unexpected error becomes a 500 without internal details. */
export function explainError(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem
  // Missing privileges are reported to the operator in the log and in readiness, not to the client.
  if (error instanceof SagapostError && error.code === 'login_settings_missing') {
    return problem('database_unreachable', outageDetails.database_unreachable)
  }
  if (error instanceof SagapostError) return fromSagapostError(error)
  if (hasZodFastifySchemaValidationErrors(error)) return fromValidation(error.validation)
  return fromFastify(error as FastifyError) ?? fromDatabase(error) ?? internalError()
}

function internalError(): Problem {
  return problem('internal_error', errorCatalogue.internal_error.title)
}

/** Validation issues as fastify-type-provider-zod reports them. */
interface ValidationIssue {
  keyword: string
  instancePath: string
  message?: string | undefined
  params?: unknown
}

/** The number of reported issues: a body may have thousands of unknown fields. */
const FIELD_ERRORS_MAX = 20

function fromValidation(issues: readonly ValidationIssue[]): Problem {
  const errors = issues.slice(0, FIELD_ERRORS_MAX).flatMap(fieldErrors).slice(0, FIELD_ERRORS_MAX)
  const [first] = errors
  return problem('request_invalid', first ? `${first.field}: ${first.detail}` : 'the request is not valid', {
    errors,
  })
}

function fieldErrors({
  keyword,
  instancePath,
  message = 'is not valid',
  params,
}: ValidationIssue): FieldError[] {
  const at = instancePath.split('/').filter((part) => part !== '')
  const { keys } = (params ?? {}) as { keys?: string[] }
  if (keyword === 'unrecognized_keys' && keys) {
    return keys.map((key) => ({ field: nameField([...at, key].join('.')), detail: 'is not a known field' }))
  }
  return [{ field: nameField(at.join('.') || 'body'), detail: message }]
}

function fromFastify(error: FastifyError): Problem | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return problem('request_too_large', 'the body is larger than this call accepts')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('content_type_unsupported', errorCatalogue.content_type_unsupported.title)
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('request_malformed', 'the length of the body does not match its Content-Length')
    // Node's error when a client disconnects before the end of its body.
    case 'ECONNRESET':
      return error.message === 'aborted'
        ? problem('request_malformed', 'the connection closed before the end of the body')
        : undefined
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
    // For the method QUERY, which no route supports.
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return problem('not_found', errorCatalogue.not_found.title)
    default:
      return undefined
  }
}

/** A server timeout or an operator cancelled the statement. */
const CANCELLED = '57014'
/** A conflict between transactions, or an object in use: temporary. */
const PASSING_STATES = /^(40|55000)/
const NOT_MIGRATED_STATES = /^(3F000|42P01|42883|42703)/
function fromDatabase(error: unknown): Problem | undefined {
  const outage = outageOf(error)
  if (outage) return problem(outage, outageDetails[outage])
  if (isPoolEnded(error)) return problem('database_unreachable', outageDetails.database_unreachable)
  if (!(error instanceof pg.DatabaseError)) return undefined
  const { code: state = '' } = error
  if (state === CANCELLED) return problem('database_timed_out', outageDetails.database_timed_out)
  if (PASSING_STATES.test(state)) return problem('database_unreachable', outageDetails.database_unreachable)
  if (NOT_MIGRATED_STATES.test(state)) {
    return problem('schema_outdated', errorCatalogue.schema_outdated.title)
  }
  const known = databaseErrorCode(error)
  return known === undefined
    ? undefined
    : fromSagapostError(new SagapostError(known, errorCatalogue[known].title))
}

const outageDetails: Record<Outage, string> = {
  database_unreachable:
    'PostgreSQL cannot be reached right now; whether the request took effect is not known',
  database_timed_out:
    'PostgreSQL did not answer in time; a synchronous standby may be missing. Whether the request took effect is not known',
  database_read_only: 'PostgreSQL accepts no writes: it is a standby or read-only; nothing was stored',
  database_full: "PostgreSQL's disk is full; nothing was stored",
  database_locks_exhausted: "PostgreSQL's table of locks is full; nothing was stored",
}
