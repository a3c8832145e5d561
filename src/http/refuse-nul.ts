import type { FastifyRequest } from 'fastify'
import { refuseField } from './problem.js'

/** PostgreSQL text cannot contain U+0000, so such a filter would fail there. (An id with it matches no row: 404.) */
export function refuseNul({ routeOptions: { url }, query }: FastifyRequest): void {
  if (!url?.startsWith('/v1/')) return
  for (const [name, value] of Object.entries(query as object)) {
    if (String(value).includes('\0')) throw refuseField('request_invalid', name, 'must not contain U+0000')
  }
}
