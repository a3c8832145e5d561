import { z } from 'zod'
import type { Api, StateOptions } from '../api.js'
import { access } from '../require-scope.js'

/** Health, readiness and metrics for supervisors and monitoring. */
export function addStateRoutes(api: Api, { checkReadiness, metrics }: StateOptions): void {
  const obstacle = z.object({ code: z.string(), detail: z.string() })

  // Liveness: the process responds. An unreachable database is no reason to restart it.
  api.route({
    method: 'GET',
    url: '/healthz',
    config: { access: 'keyless' },
    schema: {
      operationId: 'health',
      summary: 'Liveness of the process',
      tags: ['operation'],
      response: { 200: z.object({ status: z.literal('ok') }) },
    },
    handler: async () => ({ status: 'ok' as const }),
  })

  // Readiness: the process can receive traffic.
  api.route({
    method: 'GET',
    url: '/readyz',
    config: { access: 'keyless' },
    schema: {
      operationId: 'readiness',
      summary: 'Readiness of the process',
      tags: ['operation'],
      response: {
        200: z.object({ status: z.literal('ready') }),
        503: z.object({ status: z.literal('not_ready'), obstacles: z.array(obstacle) }),
      },
    },
    async handler(_request, reply) {
      const obstacles = await checkReadiness()
      if (obstacles.length === 0) return { status: 'ready' as const }
      reply.code(503)
      // No key is required, so details from PostgreSQL or the driver go only to the log.
      return {
        status: 'not_ready' as const,
        obstacles: obstacles.map(({ code, detail }) => ({ code, detail })),
      }
    },
  })

  if (!metrics) return
  api.route({
    method: 'GET',
    url: '/metrics',
    config: { access: access.read },
    schema: {
      operationId: 'metrics',
      summary: 'Metrics in the Prometheus format',
      tags: ['operation'],
      response: { 200: { description: 'the metrics', content: { 'text/plain': { schema: z.string() } } } },
    },
    async handler(_request, reply) {
      const { contentType, body } = await metrics.render()
      return reply.type(contentType).serializer(String).send(body)
    },
  })
}
