import { readFileSync } from 'node:fs'
import swagger from '@fastify/swagger'
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod'
import { errorCatalogue } from '../errors/index.js'
import { PROBLEM_TYPE } from './answer-errors.js'
import type { Api } from './api.js'
import { type HttpErrorCode, problem, statusByCode } from './problem.js'

/** What every call that needs a key can be refused with. */
const everyCall = ['unauthenticated', 'forbidden', 'too_many_bad_keys', 'database_unreachable'] as const

interface Operation {
  security?: unknown
  responses: Record<string, unknown>
}

/** The OpenAPI document, made of the routes that are added after this. */
export function describeApi(api: Api): void {
  const refusalsOf = new Map<string, readonly HttpErrorCode[]>()
  api.addHook('onRoute', ({ method, url, config }) => {
    if (config?.access === undefined) throw new Error(`${method} ${url} does not say who may call it`)
    const refusals = [...(config.refusals ?? []), ...(config.access === 'keyless' ? [] : everyCall)]
    refusalsOf.set(`${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`, refusals)
  })

  const writeSchemas = createJsonSchemaTransformObject({})
  api.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Sagapost',
        description:
          'Webhook delivery on PostgreSQL. Refusals are problem details (RFC 9457) with a stable `code`. Lists are ' +
          '`{ data, nextCursor }`, newest first. Unknown fields and parameters are refused by name.',
        version: packageVersion(),
        license: { name: 'MIT' },
      },
      servers: [{ url: '/' }],
      tags: ['events', 'subscriptions', 'deliveries', 'dead letters', 'operation'].map((name) => ({ name })),
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'an API key: spk_…, or SAGAPOST_API_KEY' },
        },
      },
      security: [{ key: [] }],
    },
    transform: createJsonSchemaTransform({}),
    transformObject(document) {
      const written = writeSchemas(document) as { paths?: Record<string, Record<string, Operation>> }
      for (const [path, operations] of Object.entries(written.paths ?? {})) {
        for (const [method, operation] of Object.entries(operations)) {
          addRefusals(operation, refusalsOf.get(`${method.toUpperCase()} ${path}`) ?? [])
        }
      }
      return written as ReturnType<typeof writeSchemas>
    },
  })
}

/** One answer for each status, with an example for each code. */
function addRefusals(operation: Operation, codes: readonly HttpErrorCode[]): void {
  if (codes.length === 0) operation.security = []
  for (const status of new Set(codes.map((code) => statusByCode[code]))) {
    const examples = codes
      .filter((code) => statusByCode[code] === status)
      .map((code) => [code, { value: problem(code, errorCatalogue[code].title) }])
    operation.responses[status] = {
      description: examples.map(([code]) => code).join(', '),
      content: {
        [PROBLEM_TYPE]: {
          schema: { $ref: '#/components/schemas/Problem' },
          examples: Object.fromEntries(examples),
        },
      },
    }
  }
}

function packageVersion(): string {
  const file = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(file) as { version: string }).version
}
