import { rotateSecret, sendTestRequest, verifySubscription } from '../../subscriptions/index.js'
import type { WebhookOutcome } from '../../webhook/index.js'
import type { Api, ApiOptions } from '../api.js'
import { ProblemError, problem } from '../problem.js'
import { readHeaderKey } from '../read-events.js'
import { access } from '../require-scope.js'
import {
  idParameter,
  rotatedSecret,
  rotation,
  testOutcome,
  type VerificationProblem,
  verifiedSubscription,
} from '../schemas.js'
import { subscriptionNotFound } from './subscriptions.js'

const refusals = ['subscription_not_found', 'subscription_deleted', 'subscription_secret_invalid'] as const

/** The commands for a subscription's callback and secret. */
export function addSubscriptionActionRoutes(api: Api, { pools, box, sender }: ApiOptions): void {
  const pool = pools.subscriptions

  api.route({
    method: 'POST',
    url: '/v1/subscriptions/:id/verify',
    config: { access: access.trySubscriptions, refusals: [...refusals, 'verification_failed'] },
    schema: {
      operationId: 'verifySubscription',
      summary: 'Verify the callback and activate the subscription',
      description: 'Sends a signed request with a challenge, which the callback must return. Safe to repeat.',
      tags: ['subscriptions'],
      params: idParameter,
      response: { 200: verifiedSubscription },
    },
    async handler(request) {
      const outcome = await verifySubscription(pool, request.params.id, { box, sender })
      if (outcome === null) throw subscriptionNotFound(request.params.id)
      if (outcome.verified) return { verified: true as const, active: true as const }
      const { reason, detail, response } = outcome
      const extensions = { reason, response: presentOutcome(response) } satisfies VerificationProblem
      throw new ProblemError(problem('verification_failed', detail, extensions))
    },
  })

  api.route({
    method: 'POST',
    url: '/v1/subscriptions/:id/test',
    config: { access: access.trySubscriptions, refusals },
    schema: {
      operationId: 'testSubscription',
      summary: 'Send a signed test request',
      description: 'Works for a subscription in any state. No event or delivery is created.',
      tags: ['subscriptions'],
      params: idParameter,
      response: { 200: testOutcome },
    },
    async handler(request) {
      const outcome = await sendTestRequest(pool, request.params.id, { box, sender })
      if (outcome === null) throw subscriptionNotFound(request.params.id)
      return presentOutcome(outcome)
    },
  })

  api.route({
    method: 'POST',
    url: '/v1/subscriptions/:id/rotate-secret',
    config: {
      access: access.changeSubscriptions,
      requestHeaders: ['Idempotency-Key'],
      bodyIsOptional: true,
      refusals: [
        ...refusals,
        ...(['subscription_invalid', 'idempotency_key_invalid', 'idempotency_conflict'] as const),
        'subscription_secret_removed',
      ],
    },
    schema: {
      operationId: 'rotateSecret',
      summary: 'Rotate the signing secret',
      description:
        'Requests are signed with both secrets until `previousExpiresAt`. With an `Idempotency-Key`, a repeated request ' +
        'returns the same secret.',
      tags: ['subscriptions'],
      params: idParameter,
      body: rotation,
      response: { 200: rotatedSecret },
    },
    preValidation: async (request) => {
      request.body ??= {}
    },
    async handler(request) {
      const idempotencyKey = readHeaderKey(request.headers)
      const rotated = await rotateSecret(pool, request.params.id, { box, ...request.body, idempotencyKey })
      if (rotated === null) throw subscriptionNotFound(request.params.id)
      return { secret: rotated.secret, previousExpiresAt: rotated.previousExpiresAt?.toISOString() ?? null }
    },
  })
}

function presentOutcome(outcome: WebhookOutcome) {
  return {
    delivered: outcome.delivered,
    responseStatus: outcome.responseStatus ?? null,
    errorCode: outcome.delivered ? null : outcome.errorCode,
    durationMs: outcome.durationMs,
    responseExcerpt: outcome.responseExcerpt ?? null,
  }
}
