import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { errorCatalogue } from '../../src/errors/index.js'
import type { Answer } from './api-server.js'

// biome-ignore lint/suspicious/noExplicitAny: a test walks through the whole document
type Any = any

export interface Operation {
  id: string
  method: string
  path: string
  isKeyless: boolean
  /** Everything that it can be answered with: the codes of its refusals, the statuses of its other answers. */
  answers: string[]
}

export interface Contract {
  operations: Operation[]
  /** Throws unless the document allows the answer; returns which one of the operation's answers it is. */
  check(operation: Operation, answer: Answer): string
  /** The same for a refusal that belongs to no operation. */
  checkProblem(answer: Answer): string
}

const PROBLEM = 'application/problem+json'

/** The document as a judge of answers, by a JSON Schema validator that has nothing to do with the server's own. */
export function readContract(document: Any): Contract {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true })
  ajv.addVocabulary(['components'])
  // As strict as it gets: what the server sends is always UTC, to the millisecond.
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  const components = closed(document.components)
  const compiled = new Map<object, ValidateFunction>()
  const validate = (schema: object, value: unknown, what: string) => {
    const known = compiled.get(schema) ?? ajv.compile({ ...closed(schema), components })
    compiled.set(schema, known)
    if (!known(value)) throw new Error(`${what}: ${ajv.errorsText(known.errors)}`)
  }

  const responsesOf = new Map<string, Record<string, Any>>()
  const operations = Object.entries<Record<string, Any>>(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId: id, responses, security }]): Operation => {
      responsesOf.set(id, responses)
      const answers = Object.entries<Any>(responses).flatMap(([status, { content }]) =>
        content?.[PROBLEM] ? Object.keys(content[PROBLEM].examples) : [status],
      )
      return { id, method: method.toUpperCase(), path, isKeyless: security?.length === 0, answers }
    }),
  )

  const checkProblem = (answer: Answer): string => {
    const { status, body, headers } = answer
    validate({ $ref: '#/components/schemas/Problem' }, body, 'problem')
    if (mediaTypeOf(answer) !== PROBLEM) throw new Error(`a problem as ${headers.get('content-type')}`)
    const known = errorCatalogue[body.code as keyof typeof errorCatalogue]
    const expected = [status, known?.title, `urn:sagapost:error:${body.code}`]
    if (JSON.stringify([body.status, body.title, body.type]) !== JSON.stringify(expected)) {
      throw new Error(`the problem does not agree with itself: ${status} ${answer.text}`)
    }
    if ((status === 429 || status === 503) && !/^[1-9]\d*$/.test(headers.get('retry-after') ?? '')) {
      throw new Error(`${status} without Retry-After`)
    }
    if (status === 401 && !headers.get('www-authenticate')?.startsWith('Bearer ')) {
      throw new Error('401 without WWW-Authenticate')
    }
    return body.code
  }

  return {
    operations,
    checkProblem,
    check(operation, answer) {
      const { status, text, body } = answer
      const what = `${operation.id} ${status}`
      const response = responsesOf.get(operation.id)?.[status]
      if (!response) throw new Error(`${what} is not documented: ${text.slice(0, 300)}`)
      if (response.content === undefined) {
        if (text !== '') throw new Error(`${what} has a body that is not documented: ${text.slice(0, 300)}`)
        return String(status)
      }
      const media = response.content[mediaTypeOf(answer)]
      if (!media) throw new Error(`${what} as ${answer.headers.get('content-type')} is not documented`)
      validate(media.schema, mediaTypeOf(answer).includes('json') ? body : text, what)
      if (mediaTypeOf(answer) !== PROBLEM) return String(status)
      const code = checkProblem(answer)
      if (!(code in media.examples)) throw new Error(`${what} ${code} is not documented`)
      return code
    },
  }
}

function mediaTypeOf({ headers }: Answer): string {
  return (headers.get('content-type') ?? '').split(';', 1)[0] ?? ''
}

/** The schemas of answers are open in the document, for clients of later servers; here no field may be unknown. */
function closed<Schema>(schema: Schema): Schema {
  if (Array.isArray(schema)) return schema.map(closed) as Schema
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([name, value]) => [name, closed(value)])
  const isObject = 'properties' in schema && 'type' in schema && schema.type === 'object'
  return Object.fromEntries(isObject ? [...entries, ['additionalProperties', false]] : entries)
}
