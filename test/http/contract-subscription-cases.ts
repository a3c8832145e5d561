import {
  bodyCases,
  type Case,
  fixed,
  idCases,
  listCases,
  newKey,
  noQuery,
  subscriptionPath,
  valid,
  valueCases,
} from './contract-case.js'

/** Every answer of the calls on subscriptions, by operationId. */
export const subscriptionCases: Record<string, Record<string, Case>> = {
  createSubscription: {
    ...bodyCases('POST', fixed('/v1/subscriptions')),
    ...valueCases(({ call }, fields) => call('POST', '/v1/subscriptions', { body: { ...valid, ...fields } })),
    '201': async ({ call }) => {
      const headers = newKey()
      const body = { ...valid, maxAttempts: 7, headers: { 'x-tenant': 'north' }, scheme: 'v1a' }
      return [
        await call('POST', '/v1/subscriptions', { body: valid }),
        await call('POST', '/v1/subscriptions', { body, headers }),
        await call('POST', '/v1/subscriptions', { body, headers }),
      ]
    },
    idempotency_key_invalid: ({ call }) =>
      call('POST', '/v1/subscriptions', { body: valid, headers: { 'idempotency-key': 'x'.repeat(256) } }),
    idempotency_conflict: async ({ call }) => {
      const headers = newKey()
      await call('POST', '/v1/subscriptions', { body: valid, headers })
      return call('POST', '/v1/subscriptions', { body: { ...valid, maxAttempts: 3 }, headers })
    },
    subscription_secret_invalid: async ({ call, damageSecrets }) => {
      const headers = newKey()
      const { body } = await call('POST', '/v1/subscriptions', { body: valid, headers })
      await damageSecrets(body.id)
      return call('POST', '/v1/subscriptions', { body: valid, headers })
    },
    subscription_secret_removed: async ({ call }) => {
      const headers = newKey()
      const { body } = await call('POST', '/v1/subscriptions', { body: valid, headers })
      await call('POST', `/v1/subscriptions/${body.id}/rotate-secret`, { body: { overlapMs: 0 } })
      return call('POST', '/v1/subscriptions', { body: valid, headers })
    },
  },

  listSubscriptions: {
    ...listCases('/v1/subscriptions', 'eventType=contract&active=false&deleted=false'),
    event_type_invalid: ({ call }) => call('GET', '/v1/subscriptions?eventType=a%20b'),
  },

  getSubscription: {
    ...idCases('GET', '/v1/subscriptions', '', 'subscription_not_found'),
    '200': async ({ call, subscription, deletedSubscription, keyOf, pool }) => {
      const id = await subscription({ headers: { authorization: 'Basic x' } })
      await pool.query(
        `INSERT INTO sagapost.subscription_breakers (subscription_id, failures, last_error_code) VALUES ($1, 3, 'timeout')`,
        [id],
      )
      return [
        await call('GET', `/v1/subscriptions/${id}`),
        await call('GET', `/v1/subscriptions/${id}`, { key: await keyOf('read') }),
        await call('GET', `/v1/subscriptions/${await deletedSubscription()}`),
      ]
    },
    request_invalid: noQuery('GET', fixed('/v1/subscriptions/1')),
  },

  changeSubscription: {
    ...bodyCases('PATCH', subscriptionPath()),
    ...valueCases(async (world, body) => world.call('PATCH', await subscriptionPath()(world), { body })),
    '200': async (world) => [
      await world.call('PATCH', await subscriptionPath()(world), { body: {} }),
      await world.call('PATCH', await subscriptionPath()(world), { body: { ...valid, maxAttempts: null } }),
    ],
    subscription_not_found: ({ call }) => call('PATCH', '/v1/subscriptions/999999999', { body: {} }),
    subscription_not_verified: async (world) =>
      world.call('PATCH', await subscriptionPath()(world), { body: { active: true } }),
    subscription_deleted: async ({ call, deletedSubscription }) =>
      call('PATCH', `/v1/subscriptions/${await deletedSubscription()}`, { body: { active: false } }),
  },

  deleteSubscription: {
    ...bodyCases('DELETE', subscriptionPath()),
    ...idCases('DELETE', '/v1/subscriptions', '', 'subscription_not_found'),
    '204': async ({ call, subscription, deletedSubscription }) => [
      await call('DELETE', `/v1/subscriptions/${await subscription()}`),
      await call('DELETE', `/v1/subscriptions/${await deletedSubscription()}`),
    ],
  },

  verifySubscription: {
    ...bodyCases('POST', subscriptionPath('/verify')),
    ...idCases('POST', '/v1/subscriptions', '/verify', 'subscription_not_found'),
    '200': async (world) => {
      world.receiver.isWilling = true
      return world.call('POST', await subscriptionPath('/verify')(world))
    },
    verification_failed: async (world) => {
      world.receiver.isWilling = false
      const unwilling = await world.call('POST', await subscriptionPath('/verify')(world))
      const nobody = await world.subscription({ callbackUrl: 'https://127.0.0.1:1/' })
      return [unwilling, await world.call('POST', `/v1/subscriptions/${nobody}/verify`)]
    },
    subscription_deleted: async ({ call, deletedSubscription }) =>
      call('POST', `/v1/subscriptions/${await deletedSubscription()}/verify`),
    subscription_secret_invalid: async ({ call, unreadableSubscription }) =>
      call('POST', `/v1/subscriptions/${await unreadableSubscription()}/verify`),
  },

  testSubscription: {
    ...bodyCases('POST', subscriptionPath('/test')),
    ...idCases('POST', '/v1/subscriptions', '/test', 'subscription_not_found'),
    '200': async (world) => {
      world.receiver.isWilling = true
      const delivered = await world.call('POST', await subscriptionPath('/test')(world))
      world.receiver.isWilling = false
      const refused = await world.call('POST', await subscriptionPath('/test')(world))
      const nobody = await world.subscription({ callbackUrl: 'https://127.0.0.1:1/' })
      return [delivered, refused, await world.call('POST', `/v1/subscriptions/${nobody}/test`)]
    },
    subscription_deleted: async ({ call, deletedSubscription }) =>
      call('POST', `/v1/subscriptions/${await deletedSubscription()}/test`),
    subscription_secret_invalid: async ({ call, unreadableSubscription }) =>
      call('POST', `/v1/subscriptions/${await unreadableSubscription()}/test`),
  },

  rotateSecret: {
    ...bodyCases('POST', subscriptionPath('/rotate-secret')),
    ...idCases('POST', '/v1/subscriptions', '/rotate-secret', 'subscription_not_found'),
    '200': async (world) => [
      await world.call('POST', await subscriptionPath('/rotate-secret')(world)),
      await world.call('POST', await subscriptionPath('/rotate-secret')(world), {
        body: { overlapMs: 0, scheme: 'v1a' },
      }),
    ],
    subscription_invalid: async (world) =>
      world.call('POST', await subscriptionPath('/rotate-secret')(world), { body: { overlapMs: -1 } }),
    idempotency_key_invalid: async (world) =>
      world.call('POST', await subscriptionPath('/rotate-secret')(world), {
        headers: { 'idempotency-key': 'x'.repeat(256) },
      }),
    idempotency_conflict: async (world) => {
      const headers = newKey()
      await world.call('POST', await subscriptionPath('/rotate-secret')(world), { headers })
      return world.call('POST', await subscriptionPath('/rotate-secret')(world), { headers })
    },
    subscription_secret_removed: async (world) => {
      const path = await subscriptionPath('/rotate-secret')(world)
      const headers = newKey()
      await world.call('POST', path, { headers })
      await world.call('POST', path, { body: { overlapMs: 0 } })
      return world.call('POST', path, { headers })
    },
    subscription_deleted: async ({ call, deletedSubscription }) =>
      call('POST', `/v1/subscriptions/${await deletedSubscription()}/rotate-secret`),
    subscription_secret_invalid: async ({ call, subscription, damageSecrets }) => {
      const id = await subscription()
      const headers = newKey()
      await call('POST', `/v1/subscriptions/${id}/rotate-secret`, { headers })
      await damageSecrets(id)
      return call('POST', `/v1/subscriptions/${id}/rotate-secret`, { headers })
    },
  },
}
