import { z } from 'zod'
import { describeSystem, readHealth, readStatistics } from '../../observability/index.js'
import type { Api, ApiOptions } from '../api.js'
import { present } from '../present.js'
import { access } from '../require-scope.js'
import {
  endpointHealth,
  healthFilter,
  statisticsFilter,
  statisticsPoint,
  systemDescription,
} from '../system-schemas.js'

/** The statistics and system data of the dashboard, also for programs. */
export function addSystemRoutes(api: Api, { pools }: ApiOptions): void {
  api.route({
    method: 'GET',
    url: '/v1/statistics',
    config: { access: access.read },
    schema: {
      operationId: 'readStatistics',
      summary: 'Published and delivered counts over time, oldest first',
      description: 'An hour by the minute, or a day by ten minutes. Counts are written every two seconds.',
      tags: ['operation'],
      querystring: statisticsFilter,
      response: { 200: z.object({ data: z.array(statisticsPoint) }) },
    },
    handler: async ({ query }) => ({ data: present(await readStatistics(pools.reads, query)) }),
  })

  api.route({
    method: 'GET',
    url: '/v1/statistics/subscriptions',
    config: { access: access.readSubscriptions },
    schema: {
      operationId: 'readEndpointHealth',
      summary: 'Health of subscription endpoints over the last hour',
      tags: ['operation'],
      querystring: healthFilter,
      response: { 200: z.object({ data: z.array(endpointHealth) }) },
    },
    handler: async ({ query: { ids } }) => ({ data: present(await readHealth(pools.reads, ids)) }),
  })

  api.route({
    method: 'GET',
    url: '/v1/system',
    config: { access: access.read },
    schema: {
      operationId: 'describeSystem',
      summary: 'Processes and their leases, table sizes, index usage, slow statements',
      tags: ['operation'],
      response: { 200: systemDescription },
    },
    handler: async () => present(await describeSystem(pools.reads)),
  })
}
