import { STATUS_CODES } from 'node:http'
import swagger from '@fastify/swagger'
import type { FastifyContextConfig } from 'fastify'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { errorCatalogue } from '../errors/index.js'
import { packageVersion } from '../package-version.js'
import { PROBLEM_TYPE } from './answer-errors.js'
import type { Api } from './api.js'
import { type HttpErrorCode, problem, statusByCode } from './problem.js'
import { problemDetails } from './schemas.js'

/** Errors of every call that requires a key. */
const everyCall = [
  ...(['unauthenticated', 'forbidden', 'too_many_bad_keys'] as const),
  ...(['database_unreachable', 'database_timed_out', 'database_read_only', 'database_full'] as const),
  'database_locks_exhausted',
  ...(['schema_outdated', 'permission_denied'] as const),
] as const

/** Errors of every call whose body is read, including calls that accept none. */
const everyBody = ['request_malformed', 'request_too_large', 'content_type_unsupported'] as const

interface Operation {
  security?: unknown
  parameters?: unknown[]
  requestBody?: { required: boolean }
  responses: Record<string, { description: string }>
}

interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, unknown> }
}

/** The request headers, by name. */
const requestHeaders = {
  'Idempotency-Key': '1 to 255 printable ASCII characters: the same request again makes nothing new',
  'sagapost-correlation-id':
    '1 to 255 printable ASCII characters without spaces; sent along with every delivery',
  traceparent: 'W3C Trace Context; sent along with every delivery',
} as const

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The error codes of this call, besides the common ones. */
    refusals?: readonly HttpErrorCode[]
    requestHeaders?: readonly (keyof typeof requestHeaders)[]
    bodyIsOptional?: boolean
  }
}

/** Generates the OpenAPI document from the routes added after this. */
export function describeApi(api: Api): void {
  const configOf = new Map<string, FastifyContextConfig>()
  api.addHook('onRoute', ({ method, url, config }) => {
    if (config?.access === undefined) throw new Error(`${method} ${url} does not say who may call it`)
    configOf.set(`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`, config)
  })

  const writeSchemas = createJsonSchemaTransformObject({})
  api.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sagapost',
        description:
          'Webhook delivery and sagas on PostgreSQL. Refusals are problem details (RFC 9457) with a stable `code`. Lists are ' +
          '`{ data, nextCursor }`, newest first. Unknown fields and parameters are refused by name.',
        version: packageVersion(),
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: ['events', 'subscriptions', 'deliveries', 'dead letters', 'sagas', 'operation'].map((name) => ({
        name,
      })),
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'an API key: spk_…, or SAGAPOST_API_KEY' },
        },
      },
      security: [{ key: [] }],
    },
    transform: createJsonSchemaTransform({}),
    transformObject(document) {
      const written = nameSchemasOnce(writeSchemas(document) as unknown as Document)
      for (const [path, operations] of Object.entries(written.paths)) {
        for (const [method, operation] of Object.entries(operations)) {
          const config = configOf.get(`${method.toUpperCase()} ${path}`) ?? {}
          complete(operation, config)
          addRefusals(operation, refusalsOf(method, path, config))
        }
      }
      return written as unknown as ReturnType<typeof writeSchemas>
    },
  })
}

/** Schemas are generated twice, for requests (`…Input`) and responses. Ours are the same, so one is removed. */
function nameSchemasOnce(document: Document): Document {
  const schemas = Object.entries(document.components.schemas)
    .filter(([name]) => name.endsWith('Input'))
    .map(([name, schema]) => [name.slice(0, -'Input'.length), schema])
  const once = { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas) } }
  return JSON.parse(
    JSON.stringify(once).replaceAll(/(#\/components\/schemas\/\w+)Input"/g, '$1"'),
  ) as Document
}

function complete(operation: Operation, config: FastifyContextConfig): void {
  for (const [status, response] of Object.entries(operation.responses)) {
    if (response.description === 'Default Response') response.description = STATUS_CODES[status] ?? status
  }
  if (config.bodyIsOptional && operation.requestBody) operation.requestBody.required = false
  const headers = (config.requestHeaders ?? []).map((name) => ({
    in: 'header',
    name,
    required: false,
    description: requestHeaders[name],
    schema: { type: 'string' },
  }))
  if (headers.length > 0) operation.parameters = [...(operation.parameters ?? []), ...headers]
  if (config.access === 'keyless') operation.security = []
}

function refusalsOf(method: string, path: string, config: FastifyContextConfig): HttpErrorCode[] {
  if (config.access === 'keyless') return [...(config.refusals ?? [])]
  return [
    ...(method === 'get' ? [] : everyBody),
    ...(path.startsWith('/v1/') ? (['request_invalid'] as const) : []),
    ...(config.refusals ?? []),
    ...everyCall,
  ]
}

/** One response per status, with an example per error code. */
function addRefusals(operation: Operation, codes: readonly HttpErrorCode[]): void {
  for (const status of new Set(codes.map((code) => statusByCode[code]))) {
    const examples = codes
      .filter((code) => statusByCode[code] === status)
      .map((code) => [code, { value: problem(code, errorCatalogue[code].title) }])
    const content = {
      schema: { $ref: `#/components/schemas/${problemDetails.meta()?.id}` },
      examples: Object.fromEntries(examples),
    }
    const description = examples.map(([code]) => code).join(', ')
    operation.responses[status] = { description, ...{ content: { [PROBLEM_TYPE]: content } } }
  }
}
