import type { FastifyError } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import pg from 'pg'
import { databaseErrorCode } from '../database/index.js'
import { errorCatalogue, SagapostError } from '../errors/index.js'
import {
  type FieldError,
  fromSagapostError,
  nameField,
  type Problem,
  ProblemError,
  problem,
} from './problem.js'

/** Whatever was thrown, as the answer to the client. What nobody expected is a 500 without a word about its inside. */
export function explainError(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem
  if (error instanceof SagapostError) return fromSagapostError(error)
  if (hasZodFastifySchemaValidationErrors(error)) return fromValidation(error.validation)
  return fromFastify(error as FastifyError) ?? fromDatabase(error) ?? internalError()
}

function internalError(): Problem {
  return problem('internal_error', errorCatalogue.internal_error.title)
}

/** As fastify-type-provider-zod gives the issues of zod. */
interface ValidationIssue {
  keyword: string
  instancePath: string
  message?: string | undefined
  params?: unknown
}

/** Enough to correct a request by; a body of thousands of unknown fields is not repeated. */
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
      return problem('request_too_large', 'the body is larger than this call takes')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return problem('content_type_unsupported', errorCatalogue.content_type_unsupported.title)
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return problem('request_malformed', 'the body is not as long as its Content-Length says')
    // Node's word for a client that went away before the end of its body.
    case 'ECONNRESET':
      return error.message === 'aborted'
        ? problem('request_malformed', 'the connection ended before the body did')
        : undefined
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_MAX_PARAM_LENGTH':
    // Of a QUERY, for which no path has an answer.
    case 'FST_ERR_ROUTE_MISSING_CONTENT_TYPE':
      return problem('not_found', errorCatalogue.not_found.title)
    default:
      return undefined
  }
}

/** Connections, resources, shutdown, failover, a database that takes no connections: it will pass. */
const AWAY_STATES = /^(08|53|57P|58|25006|28|3D|40|55000)/
const NOT_MIGRATED_STATES = /^(3F000|42P01|42883|42703)/
/** What `pg` says, without a code, of a connection that broke, could not be made in time, or does not answer. */
const AWAY_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|connection error and is not queryable|Client was closed|after calling end/
const NETWORK_CODES =
  /^(ECONN|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ENOENT|EMFILE)/

function fromDatabase(error: unknown): Problem | undefined {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const state = typeof code === 'string' ? code : ''
  if (error instanceof pg.DatabaseError) {
    if (AWAY_STATES.test(state)) return databaseAway()
    if (NOT_MIGRATED_STATES.test(state)) {
      return problem('schema_outdated', errorCatalogue.schema_outdated.title)
    }
    const known = databaseErrorCode(error)
    return known === undefined
      ? undefined
      : fromSagapostError(new SagapostError(known, errorCatalogue[known].title))
  }
  const away =
    AWAY_MESSAGES.test(String(message)) || (NETWORK_CODES.test(state) && 'syscall' in (error as object))
  return away || error instanceof AggregateError ? databaseAway() : undefined
}

function databaseAway(): Problem {
  return problem(
    'database_unreachable',
    'PostgreSQL cannot be reached right now; whether the request took effect is not known',
  )
}
