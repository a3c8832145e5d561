import {
  bodyCases,
  type Case,
  event,
  fixed,
  idCases,
  KILOBYTE,
  listCases,
  newKey,
  noQuery,
} from './contract-case.js'

/** Every answer of the calls on events, by operationId. */
export const eventCases: Record<string, Record<string, Case>> = {
  publishEvent: {
    ...bodyCases('POST', fixed('/v1/events'), 1100 * KILOBYTE),
    '202': async ({ call }) => {
      const headers = { ...newKey(), 'sagapost-correlation-id': 'contract' }
      const first = await call('POST', '/v1/events', { body: event, headers })
      return [first, await call('POST', '/v1/events', { body: event, headers })]
    },
    event_type_invalid: ({ call }) => call('POST', '/v1/events', { body: { ...event, type: '' } }),
    event_type_reserved: ({ call }) =>
      call('POST', '/v1/events', { body: { ...event, type: 'saga.completed' } }),
    event_invalid: ({ call }) =>
      call('POST', '/v1/events', { body: event, headers: { 'sagapost-correlation-id': 'two words' } }),
    payload_invalid: ({ call }) =>
      call('POST', '/v1/events', {
        body: `{"type":"deep","payload":${'['.repeat(1001)}${']'.repeat(1001)}}`,
      }),
    payload_too_large: ({ call }) =>
      call('POST', '/v1/events', { body: { ...event, payload: 'x'.repeat(1024 * KILOBYTE) } }),
    idempotency_key_invalid: async ({ call }) => [
      await call('POST', '/v1/events', { body: { ...event, idempotencyKey: '' } }),
      await call('POST', '/v1/events', { body: event, headers: { 'idempotency-key': 'x'.repeat(256) } }),
    ],
    idempotency_conflict: async ({ call }) => {
      const headers = newKey()
      await call('POST', '/v1/events', { body: event, headers })
      return call('POST', '/v1/events', { body: { ...event, payload: 8 }, headers })
    },
    idempotency_key_busy: ({ call, whileKeyIsHeld }) =>
      whileKeyIsHeld('busy', () =>
        call('POST', '/v1/events', { body: { ...event, idempotencyKey: 'busy' } }),
      ),
  },

  publishEvents: {
    ...bodyCases('POST', fixed('/v1/events/batch'), 16 * KILOBYTE * KILOBYTE),
    '202': async ({ call }) => {
      const body = { events: [event, { type: 'a b', payload: 1 }, 17, { ...event, idempotencyKey: 'twice' }] }
      return [
        await call('POST', '/v1/events/batch', { body }),
        await call('POST', '/v1/events/batch', { body }),
        await call('POST', '/v1/events/batch', { body: { events: [17] }, headers: newKey() }),
      ]
    },
    idempotency_key_invalid: ({ call }) =>
      call('POST', '/v1/events/batch', {
        body: { events: [event] },
        headers: { 'idempotency-key': 'x'.repeat(256) },
      }),
    idempotency_key_busy: ({ call, whileKeyIsHeld }) =>
      whileKeyIsHeld('busy', () =>
        call('POST', '/v1/events/batch', { body: { events: [{ ...event, idempotencyKey: 'busy' }] } }),
      ),
  },

  listEvents: {
    ...listCases('/v1/events', 'type=contract&from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00%2B02:00'),
    event_type_invalid: ({ call }) => call('GET', '/v1/events?type=a%20b'),
  },

  listSetAsideEvents: {
    ...listCases('/v1/events/set-aside', 'limit=2'),
  },

  getEvent: {
    ...idCases('GET', '/v1/events', '', 'event_not_found'),
    '200': async ({ call, delivery }) => {
      const odd = '{"type":"odd","payload":{"a":1e400,"a":"\\u0000\\ud800","__proto__":[-0]}}'
      const { body } = await call('POST', '/v1/events', { body: odd })
      const withDelivery = await call('GET', `/v1/events/${(await delivery()).eventId}`)
      return [await call('GET', `/v1/events/${body.id}`), withDelivery]
    },
    request_invalid: noQuery('GET', fixed('/v1/events/1')),
  },
}
