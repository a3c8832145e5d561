import type { Case } from './contract-case.js'

/** Every answer of the calls about the system as a whole, by operationId. */
export const systemCases: Record<string, Record<string, Case>> = {
  readStatistics: {
    '200': async ({ call, delivery }) => [
      await call('GET', '/v1/statistics'),
      await call('GET', '/v1/statistics?range=day'),
      await call('GET', `/v1/statistics?subscriptionId=${(await delivery()).subscriptionId}`),
    ],
    request_invalid: async ({ call }) => [
      await call('GET', '/v1/statistics?range=year'),
      await call('GET', '/v1/statistics?subscriptionId=x'),
      await call('GET', '/v1/statistics?unknown=1'),
    ],
  },

  readEndpointHealth: {
    '200': ({ call }) => call('GET', '/v1/statistics/subscriptions?ids=1,2,999999'),
    request_invalid: async ({ call }) => [
      await call('GET', '/v1/statistics/subscriptions'),
      await call('GET', '/v1/statistics/subscriptions?ids='),
      await call('GET', '/v1/statistics/subscriptions?ids=1,x'),
    ],
  },

  watchSystem: {
    '200': ({ call }) => call('GET', '/v1/live'),
    request_invalid: ({ call }) => call('GET', '/v1/live?unknown=1'),
  },

  describeSystem: {
    '200': ({ call }) => call('GET', '/v1/system'),
    request_invalid: ({ call }) => call('GET', '/v1/system?unknown=1'),
  },
}
