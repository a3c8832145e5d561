import type { FastifyRequest } from 'fastify'
import { refuseField } from './problem.js'

/**
 * Refuses unknown fields of calls without a body or query schema, by name as elsewhere. Health and metrics ignore extra
 * parameters.
 */
export function refuseUnasked({ routeOptions: { url, schema }, body, query }: FastifyRequest): void {
  if (!url?.startsWith('/v1/')) return
  const [parameter] = schema?.querystring ? [] : Object.keys(query as object)
  if (parameter !== undefined) throw refuseField('request_invalid', parameter, 'is not a known parameter')
  const [field] = schema?.body ? [] : Object.keys(body ?? {})
  if (field !== undefined) throw refuseField('request_invalid', field, 'is not a known field')
}
