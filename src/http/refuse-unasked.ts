import type { FastifyRequest } from 'fastify'
import { refuseField } from './problem.js'

/**
 * A call without a body, or without a query, has no schema that would refuse an unknown field of it; so it is refused
 * here, by name as everywhere. Whoever asks for health or metrics may add what they like.
 */
export function refuseUnasked({ routeOptions: { url, schema }, body, query }: FastifyRequest): void {
  if (!url?.startsWith('/v1/')) return
  const [parameter] = schema?.querystring ? [] : Object.keys(query as object)
  if (parameter !== undefined) throw refuseField('request_invalid', parameter, 'is not a known parameter')
  const [field] = schema?.body ? [] : Object.keys(body ?? {})
  if (field !== undefined) throw refuseField('request_invalid', field, 'is not a known field')
}
