import type { Answer } from './api-server.js'
import type { World } from './contract-world.js'

/** Provokes one answer of an operation: a request, or several that must all be answered so. */
export type Case = (world: World) => Promise<Answer | Answer[]>

export const KILOBYTE = 1024
const large = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes) })
export const event = { type: 'contract', payload: { order: 7 } }
export const valid = { eventType: 'contract', callbackUrl: 'https://receiver.example/hooks' }
let keys = 0
export const newKey = () => ({ 'idempotency-key': `contract-${keys++}` })

/** What a body can be refused for, whatever it says. */
export const bodyCases = (
  method: string,
  path: (world: World) => Promise<string>,
  bytesMax = 256 * KILOBYTE,
): Record<string, Case> => ({
  request_malformed: async (world) => [
    await world.call(method, await path(world), { body: '{' }),
    await world.call(method, await path(world), { body: Buffer.from('"\xff"', 'latin1') }),
  ],
  request_invalid: async (world) => [
    await world.call(method, await path(world), { body: '[]' }),
    await world.call(method, await path(world), { body: '{"unknown":1}' }),
  ],
  request_too_large: async (world) => world.call(method, await path(world), { body: large(bytesMax) }),
  content_type_unsupported: async (world) => [
    await world.call(method, await path(world), { body: '{}', headers: { 'content-type': 'text/plain' } }),
    await world.call(method, await path(world), { body: '{}', headers: { 'content-encoding': 'gzip' } }),
  ],
})

export const valueCases = (ask: (world: World, fields: object) => Promise<Answer>): Record<string, Case> => ({
  event_type_invalid: (world) => ask(world, { eventType: 'a b' }),
  callback_url_not_https: (world) => ask(world, { callbackUrl: 'http://receiver.example' }),
  callback_url_invalid: (world) => ask(world, { callbackUrl: 'https://' }),
  callback_url_blocked: (world) => ask(world, { callbackUrl: 'https://10.0.0.1/' }),
  subscription_invalid: async (world) => [
    await ask(world, { maxAttempts: 0 }),
    await ask(world, { headers: { 'webhook-id': 'x' } }),
  ],
})

export const listCases = (path: string, filter: string): Record<string, Case> => ({
  '200': async ({ call }) => [
    await call('GET', path),
    await call('GET', `${path}?limit=1`),
    await call('GET', `${path}?${filter}`),
  ],
  request_invalid: async ({ call }) => [
    await call('GET', `${path}?limit=0`),
    await call('GET', `${path}?unknown=1`),
    await call('GET', `${path}?limit=1&limit=2`),
  ],
  query_invalid: async ({ call }) => call('GET', `${path}?cursor=zzz`),
})

export const idCases = (
  method: string,
  collection: string,
  action: string,
  code: string,
): Record<string, Case> => ({
  [code]: async ({ call }) =>
    Promise.all(
      ['999999999', '0', 'x', '9'.repeat(30)].map((id) => call(method, `${collection}/${id}${action}`)),
    ),
})

/** A call without a query of its own refuses one by name. */
export const noQuery =
  (method: string, path: (world: World) => Promise<string>): Case =>
  async (world) =>
    world.call(method, `${await path(world)}?unknown=1`)

export const subscriptionPath =
  (action = '') =>
  async (world: World) =>
    `/v1/subscriptions/${await world.subscription()}${action}`
export const fixed = (path: string) => async () => path
