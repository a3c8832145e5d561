import { z } from 'zod'
import type { Caller } from '../../api-keys/index.js'
import { readBreakers } from '../../delivery/index.js'
import {
  changeSubscription,
  createSubscription,
  deleteSubscription,
  getSubscription,
  listSubscriptions,
  type Subscription,
} from '../../subscriptions/index.js'
import type { Api, ApiOptions } from '../api.js'
import { type ProblemError, refuse } from '../problem.js'
import { readHeaderKey } from '../read-events.js'
import { access } from '../require-scope.js'
import {
  createdSubscription,
  idParameter,
  newSubscription,
  pageOf,
  subscription,
  subscriptionChange,
  subscriptionFilter,
} from '../schemas.js'
import { presentSubscription } from './present-subscription.js'

const queryRefusals = ['query_invalid', 'event_type_invalid'] as const
const valueRefusals = [
  ...['event_type_invalid', 'callback_url_not_https', 'callback_url_invalid', 'callback_url_blocked'],
  'subscription_invalid',
] as const

/** Creates, reads, changes and deletes subscriptions, under subscription_admin. */
export function addSubscriptionRoutes(api: Api, { pools, box, allowedCidrs }: ApiOptions): void {
  const pool = pools.subscriptions
  const show = async (found: Subscription, caller: Caller | null) =>
    presentSubscription(found, caller, (await readBreakers(pool, [found.id])).get(found.id))

  api.route({
    method: 'POST',
    url: '/v1/subscriptions',
    config: {
      access: access.changeSubscriptions,
      requestHeaders: ['Idempotency-Key'],
      refusals: [
        ...valueRefusals,
        ...(['idempotency_key_invalid', 'idempotency_conflict', 'subscription_secret_invalid'] as const),
        'subscription_secret_removed',
      ],
    },
    schema: {
      operationId: 'createSubscription',
      summary: 'Create a subscription',
      description:
        'The response contains the signing secret, which is shown only once. Nothing is sent before the callback is verified. With an ' +
        '`Idempotency-Key`, the same request again gets the same answer.',
      tags: ['subscriptions'],
      body: newSubscription,
      response: { 201: createdSubscription },
    },
    async handler(request, reply) {
      const idempotencyKey = readHeaderKey(request.headers)
      const created = await createSubscription(pool, request.body, { box, allowedCidrs, idempotencyKey })
      reply.code(201).header('location', `/v1/subscriptions/${created.subscription.id}`)
      return {
        ...presentSubscription(created.subscription, request.caller, undefined),
        secret: created.secret,
      }
    },
  })

  api.route({
    method: 'GET',
    url: '/v1/subscriptions',
    config: { access: access.readSubscriptions, refusals: queryRefusals },
    schema: {
      operationId: 'listSubscriptions',
      summary: 'List subscriptions, newest first',
      tags: ['subscriptions'],
      querystring: subscriptionFilter,
      response: { 200: pageOf(subscription) },
    },
    async handler(request) {
      const { data, nextCursor } = await listSubscriptions(pool, request.query)
      const breakers = await readBreakers(
        pool,
        data.map(({ id }) => id),
      )
      const shown = data.map((each) => presentSubscription(each, request.caller, breakers.get(each.id)))
      return { data: shown, nextCursor }
    },
  })

  api.route({
    method: 'GET',
    url: '/v1/subscriptions/:id',
    config: { access: access.readSubscriptions, refusals: ['subscription_not_found'] },
    schema: {
      operationId: 'getSubscription',
      summary: 'Get a subscription, including a deleted one',
      tags: ['subscriptions'],
      params: idParameter,
      response: { 200: subscription },
    },
    async handler(request) {
      return show(required(await getSubscription(pool, request.params.id), request.params.id), request.caller)
    },
  })

  api.route({
    method: 'PATCH',
    url: '/v1/subscriptions/:id',
    config: {
      access: access.changeSubscriptions,
      refusals: [
        ...valueRefusals,
        ...(['subscription_not_found', 'subscription_not_verified', 'subscription_deleted'] as const),
      ],
    },
    schema: {
      operationId: 'changeSubscription',
      summary: 'Change the given fields of a subscription',
      description:
        'Another `callbackUrl` clears `verified` and `active`. `active: true` needs a verification. Open deliveries of an ' +
        'inactive subscription are held until it is active again.',
      tags: ['subscriptions'],
      params: idParameter,
      body: subscriptionChange,
      response: { 200: subscription },
    },
    async handler(request) {
      const changed = await changeSubscription(pool, request.params.id, request.body, { allowedCidrs })
      return show(required(changed, request.params.id), request.caller)
    },
  })

  api.route({
    method: 'DELETE',
    url: '/v1/subscriptions/:id',
    config: { access: access.changeSubscriptions, refusals: ['subscription_not_found'] },
    schema: {
      operationId: 'deleteSubscription',
      summary: 'Delete a subscription permanently',
      description:
        'Permanent and repeatable. Open deliveries end as dead letters with `subscription_deleted`, and nothing more is sent; ' +
        'the subscription stays readable with `deletedAt`.',
      tags: ['subscriptions'],
      params: idParameter,
      response: { 204: z.null().describe('deleted') },
    },
    async handler(request, reply) {
      required(await deleteSubscription(pool, request.params.id), request.params.id)
      return reply.code(204).send(null)
    },
  })
}

function required(found: Subscription | null, id: string): Subscription {
  if (found === null) throw subscriptionNotFound(id)
  return found
}

export function subscriptionNotFound(id: string): ProblemError {
  return refuse('subscription_not_found', `there is no subscription ${id.slice(0, 40)}`)
}
