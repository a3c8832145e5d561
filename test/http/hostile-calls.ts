import { beforeAll } from 'vitest'
import type { TestDatabase } from '../support/database.js'
import { insertDelivery } from '../support/fixtures.js'
import type { Answer, CallOptions } from './api-server.js'
import type { WatchedApi } from './hostile-server.js'

/** The calls that read a body, with a good one and the fields that they know. */
export const calls: Record<string, { good: string; fields: string[] }> = {
  'POST /v1/events': {
    good: '{"type":"hostile","payload":1}',
    fields: ['type', 'payload', 'idempotencyKey'],
  },
  'POST /v1/events/batch': { good: '{"events":[{"type":"hostile","payload":1}]}', fields: ['events'] },
  'POST /v1/subscriptions': {
    good: '{"eventType":"hostile","callbackUrl":"https://127.0.0.1:1/"}',
    fields: ['eventType', 'callbackUrl', 'maxAttempts', 'headers', 'scheme'],
  },
  'PATCH /v1/subscriptions/{subscription}': {
    good: '{"maxAttempts":3}',
    fields: ['eventType', 'callbackUrl', 'active', 'maxAttempts', 'headers'],
  },
  'POST /v1/subscriptions/{subscription}/rotate-secret': { good: '{}', fields: ['overlapMs', 'scheme'] },
  'POST /v1/subscriptions/{subscription}/verify': { good: '', fields: [] },
  'POST /v1/subscriptions/{subscription}/test': { good: '', fields: [] },
  'POST /v1/dead-letters/{deadLetter}/requeue': { good: '', fields: [] },
  'DELETE /v1/subscriptions/999999999': { good: '', fields: [] },
}
export const names = Object.keys(calls)

/** Sends a body to a call, at a subscription or dead letter that is there; the answer is good, or a clear refusal. */
export function useCalls(database: TestDatabase, api: WatchedApi) {
  const placeholder = { subscription: '', deadLetter: '' }
  beforeAll(async () => {
    const made = await api.call('POST', '/v1/subscriptions', {
      body: { eventType: 'hostile', callbackUrl: 'https://127.0.0.1:1/' },
    })
    placeholder.subscription = made.body.id
    const { id } = await insertDelivery(database.pool, 'DeadLettered')
    const { rows } = await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [
      id,
    ])
    placeholder.deadLetter = rows[0].id
  })

  return async (
    name: string,
    body: CallOptions['body'],
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const [method = '', path = ''] = name.split(' ')
    const at = path.replaceAll(/\{(\w+)\}/g, (_, what) => placeholder[what as keyof typeof placeholder])
    const answer = await api.call(method, at, { body, headers })
    if (answer.status >= 300) api.expectRefusal(answer)
    return answer
  }
}
