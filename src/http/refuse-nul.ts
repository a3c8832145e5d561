import type { FastifyRequest } from 'fastify'
import { refuseField } from './problem.js'

/** PostgreSQL has no U+0000 in its texts: a filter with one would fail there. (An id with one is no row's: 404.) */
export function refuseNul({ routeOptions: { url }, query }: FastifyRequest): void {
  if (!url?.startsWith('/v1/')) return
  for (const [name, value] of Object.entries(query as object)) {
    if (String(value).includes('\0')) throw refuseField('request_invalid', name, 'must not contain U+0000')
  }
}
