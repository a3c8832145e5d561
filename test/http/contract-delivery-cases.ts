import { bodyCases, type Case, fixed, idCases, listCases, newKey, noQuery } from './contract-case.js'
import type { World } from './contract-world.js'

const requeueAll = (world: World, filter: object, more: object = {}) =>
  world.call('POST', '/v1/dead-letters/requeue', { body: { filter }, ...more })

/** Every answer of the calls on deliveries and dead letters, by operationId. */
export const deliveryCases: Record<string, Record<string, Case>> = {
  listDeliveries: {
    ...listCases(
      '/v1/deliveries',
      'status=Pending&eventId=1&subscriptionId=1&errorCode=http_500&eventType=a',
    ),
    event_type_invalid: ({ call }) => call('GET', '/v1/deliveries?eventType=a%20b'),
  },

  getDelivery: {
    ...idCases('GET', '/v1/deliveries', '', 'delivery_not_found'),
    '200': async ({ call, delivery }) => call('GET', `/v1/deliveries/${(await delivery()).id}`),
    request_invalid: noQuery('GET', fixed('/v1/deliveries/1')),
  },

  cancelDelivery: {
    ...bodyCases('POST', async ({ delivery }) => `/v1/deliveries/${(await delivery()).id}/cancel`),
    ...idCases('POST', '/v1/deliveries', '/cancel', 'delivery_not_found'),
    '202': async ({ call, delivery }) => {
      const { id } = await delivery()
      return [
        await call('POST', `/v1/deliveries/${id}/cancel`),
        await call('POST', `/v1/deliveries/${id}/cancel`),
      ]
    },
    delivery_not_cancellable: async ({ call, deadLetter }) => {
      const { body } = await call('GET', `/v1/dead-letters/${await deadLetter()}`)
      return call('POST', `/v1/deliveries/${body.deliveryId}/cancel`)
    },
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
    subscription_deleted: async ({ call, deadLetter }) => {
      const id = await deadLetter()
      const { body } = await call('GET', `/v1/dead-letters/${id}`)
      await call('DELETE', `/v1/subscriptions/${body.subscriptionId}`)
      return call('POST', `/v1/dead-letters/${id}/requeue`)
    },
  },

  requeueDeadLetters: {
    ...bodyCases('POST', fixed('/v1/dead-letters/requeue')),
    '202': async (world) => {
      await world.deadLetter()
      const from = '2020-01-01T00:00:00Z'
      return [
        await requeueAll(world, { all: true }),
        await requeueAll(world, {
          subscriptionId: '1',
          eventType: 'order.placed',
          errorCode: 'http_500',
          from,
        }),
        await requeueAll(world, { errorCode: 'nothing' }, { headers: newKey() }),
      ]
    },
    '200': async ({ call }) =>
      call('POST', '/v1/dead-letters/requeue', { body: { filter: { all: true }, dryRun: true } }),
    requeue_filter_empty: async (world) => requeueAll(world, {}),
    requeue_too_large: async (world) => {
      // As if there were half a million.
      const refuse = `BEGIN
        RAISE EXCEPTION USING ERRCODE = 'SP010', MESSAGE = 'too many', CONSTRAINT = 'requeue_letters_max'; END`
      await world.deadLetter()
      await world.pool.query(
        `CREATE FUNCTION public.too_many() RETURNS trigger LANGUAGE plpgsql AS $$ ${refuse} $$;
         CREATE TRIGGER too_many BEFORE INSERT ON sagapost.requeue_batches EXECUTE FUNCTION public.too_many()`,
      )
      const answer = await requeueAll(world, { all: true })
      await world.pool.query('DROP FUNCTION public.too_many() CASCADE')
      return answer
    },
    query_invalid: async (world) => [
      await requeueAll(world, { errorCode: 'HTTP 500' }),
      await requeueAll(world, { all: true, errorCode: 'timeout' }),
      await requeueAll(world, { subscriptionId: '9999999999999999999' }),
    ],
    event_type_invalid: async (world) => requeueAll(world, { eventType: 'a b' }),
    idempotency_key_invalid: async (world) =>
      requeueAll(world, { all: true }, { headers: { 'idempotency-key': 'x'.repeat(256) } }),
    idempotency_conflict: async (world) => {
      const headers = newKey()
      await requeueAll(world, { errorCode: 'timeout' }, { headers })
      return requeueAll(world, { errorCode: 'http_500' }, { headers })
    },
  },
}
