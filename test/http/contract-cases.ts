import { type Case, event, valid } from './contract-case.js'
import { deliveryCases } from './contract-delivery-cases.js'
import { eventCases } from './contract-event-cases.js'
import { sagaBodies, sagaCases } from './contract-saga-cases.js'
import { subscriptionCases } from './contract-subscription-cases.js'
import { systemCases } from './contract-system-cases.js'

/** Every answer of every operation, by operationId: a code, or the status of an answer that is no refusal. */
export const cases: Record<string, Record<string, Case>> = {
  ...eventCases,
  ...subscriptionCases,
  ...deliveryCases,
  ...sagaCases,
  ...systemCases,
  health: { '200': ({ call }) => call('GET', '/healthz', { key: null }) },
  readiness: { '200': ({ call }) => call('GET', '/readyz', { key: null }) },
  metrics: { '200': async ({ call, keyOf }) => call('GET', '/metrics', { key: await keyOf('read') }) },
}

/** Queries without which the call is refused before the database is asked. */
export const plainQueries: Record<string, string> = { readEndpointHealth: '?ids=1' }

/** Bodies that are good in themselves, so that the call goes as far as the database. */
export const plainBodies: Record<string, unknown> = {
  publishEvent: event,
  publishEvents: { events: [event] },
  createSubscription: valid,
  changeSubscription: { maxAttempts: 3 },
  requeueDeadLetters: { filter: { all: true } },
  ...sagaBodies,
}
