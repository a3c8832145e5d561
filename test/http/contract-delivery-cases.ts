import { bodyCases, type Case, fixed, idCases, listCases, noQuery } from './contract-case.js'

/** Every answer of the calls on deliveries and dead letters, by operationId. */
export const deliveryCases: Record<string, Record<string, Case>> = {
  listDeliveries: listCases('/v1/deliveries', 'status=Pending&eventId=1&subscriptionId=1'),

  getDelivery: {
    ...idCases('GET', '/v1/deliveries', '', 'delivery_not_found'),
    '200': async ({ call, delivery }) => call('GET', `/v1/deliveries/${(await delivery()).id}`),
    request_invalid: noQuery('GET', fixed('/v1/deliveries/1')),
  },

  listDeadLetters: {
    ...listCases(
      '/v1/dead-letters',
      'subscriptionId=1&eventType=order.placed&errorCode=http_500&from=2020-01-01T00:00:00Z',
    ),
    event_type_invalid: ({ call }) => call('GET', '/v1/dead-letters?eventType=a%20b'),
  },

  getDeadLetter: {
    ...idCases('GET', '/v1/dead-letters', '', 'dead_letter_not_found'),
    '200': async ({ call, deadLetter }) => {
      const id = await deadLetter()
      const fresh = await call('GET', `/v1/dead-letters/${id}`)
      await call('POST', `/v1/dead-letters/${id}/requeue`)
      return [fresh, await call('GET', `/v1/dead-letters/${id}`)]
    },
    request_invalid: noQuery('GET', fixed('/v1/dead-letters/1')),
  },

  requeueDeadLetter: {
    ...bodyCases('POST', async ({ deadLetter }) => `/v1/dead-letters/${await deadLetter()}/requeue`),
    ...idCases('POST', '/v1/dead-letters', '/requeue', 'dead_letter_not_found'),
    '201': async ({ call, deadLetter }) => call('POST', `/v1/dead-letters/${await deadLetter()}/requeue`),
    '200': async ({ call, deadLetter }) => {
      const id = await deadLetter()
      await call('POST', `/v1/dead-letters/${id}/requeue`)
      return call('POST', `/v1/dead-letters/${id}/requeue`)
    },
    subscription_inactive: async ({ call, deadLetter }) =>
      call('POST', `/v1/dead-letters/${await deadLetter({ active: false })}/requeue`),
  },
}
