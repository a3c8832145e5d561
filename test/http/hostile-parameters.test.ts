import { METHODS } from 'node:http'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { adminKey } from './api-server.js'
import { head, useWatchedApi } from './hostile-server.js'

const database = useDatabase()
const api = useWatchedApi(database)
const close = { connection: 'close' }

/** Every call with a query, and what of it is text, an id or a time. */
const parameters: Record<string, string[]> = {
  '/v1/events': ['type', 'idempotencyKey', 'from', 'to', 'cursor', 'limit'],
  '/v1/deliveries': ['status', 'eventId', 'subscriptionId', 'errorCode', 'eventType', 'cursor', 'limit'],
  '/v1/subscriptions': ['eventType', 'active', 'deleted', 'cursor', 'limit'],
  '/v1/dead-letters': ['subscriptionId', 'eventType', 'errorCode', 'from', 'to', 'cursor', 'limit'],
  '/v1/sagas': ['state', 'definition', 'from', 'to', 'cursor', 'limit', 'awaitingOperator', 'key'],
  '/v1/statistics': ['range', 'subscriptionId'],
  '/v1/statistics/subscriptions': ['ids'],
}
const hostileValues = [
  '%00',
  'a%00b',
  '%ED%A0%80',
  '%FF',
  '9223372036854775807',
  '9223372036854775808',
  '9999999999999999999',
  '-1',
  '1e400',
  '%F0%9F%92%A1',
]
const queries = Object.entries(parameters).flatMap(([path, names]) =>
  names.flatMap((name) => hostileValues.map((value) => `${path}?${name}=${value}`)),
)
const paths = ['events', 'deliveries', 'subscriptions', 'dead-letters', 'sagas'].flatMap((resource) =>
  [...hostileValues, '%00%00'].map((value) => `/v1/${resource}/${value}`),
)

async function ask(request: string, bytes = head(request, close)): Promise<string> {
  const { status, body } = await api.exchange(bytes)
  const problem = (status ?? 0) >= 400 ? JSON.parse(body) : { code: 'none' }
  return `${status} ${problem.code}`
}

describe('a request with values that PostgreSQL refuses', () => {
  it('[O1] is never answered with a 500, whichever parameter holds them', async () => {
    const answers: string[] = []
    for (const url of [...queries, ...paths]) answers.push(`${await ask(`GET ${url}`)}: ${url}`)
    expect(answers.filter((answer) => !/^(200|400|404|422) /.test(answer))).toEqual([])
    expect(answers).toContain('400 request_invalid: /v1/events?idempotencyKey=a%00b')
    expect(answers).toContain('400 request_invalid: /v1/deliveries?errorCode=a%00b')
    expect(answers).toContain('400 request_invalid: /v1/statistics?subscriptionId=9223372036854775808')
    expect(answers).toContain('200 none: /v1/statistics?subscriptionId=9223372036854775807')
    expect(answers).toContain('400 request_invalid: /v1/statistics/subscriptions?ids=9999999999999999999')
    await api.expectUnharmed()
  })

  it('[O1] is never answered with a 500, whichever field of a body holds them', async () => {
    const answers: string[] = []
    for (const text of ['\0', 'a\0b', '\ud800', '9999999999999999999', 'x'.repeat(300)]) {
      for (const [path, body] of Object.entries(bodiesWith(text))) {
        const { status, body: answer } = await api.call('POST', path, { body })
        answers.push(`${status} ${answer.code}: ${path} with ${JSON.stringify(text)}`)
      }
    }
    expect(answers.filter((answer) => !/^(2\d\d|400|404|409|422) /.test(answer))).toEqual([])
    await api.expectUnharmed()
  })
})

/** Bodies whose every text is this one, the names of headers and the like aside. */
function bodiesWith(text: string): Record<string, object> {
  const sagaId = '1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a'
  return {
    '/v1/events': { type: 'a.b', payload: text, idempotencyKey: text },
    '/v1/subscriptions': {
      eventType: 'a.b',
      callbackUrl: 'https://receiver.example/',
      headers: { 'x-a': text },
    },
    '/v1/subscriptions?': { eventType: text, callbackUrl: text },
    '/v1/dead-letters/requeue': { filter: { errorCode: text } },
    '/v1/dead-letters/requeue?': { filter: { subscriptionId: text }, dryRun: true },
    '/v1/dead-letters/requeue??': { filter: { eventType: text }, dryRun: true },
    [`/v1/sagas/${sagaId}/cancel`]: { reason: text, by: text },
    [`/v1/sagas/${sagaId}/cancel?`]: { reason: text },
    [`/v1/sagas/${sagaId}/resolve`]: { action: 'retry', by: text, why: text },
    '/v1/signals': { name: 'paid', key: text, payload: text },
    '/v1/signals?': { name: text, key: 'a' },
  }
}

describe('a method', () => {
  it('[O1] that no path has is answered with 404, or refused as an invalid request', async () => {
    const answers: string[] = []
    // An answer to HEAD has no body; CONNECT is no request to a path.
    const others = METHODS.filter((method) => method !== 'HEAD' && method !== 'CONNECT')
    for (const method of others)
      for (const path of ['/v1/events', '/v1/none', '/healthz', '/', '/docs']) {
        const request = `${method} ${path}`
        answers.push(`${await ask(request)}: ${request}`)
        // Without a content type as well.
        const bare = `${request} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminKey}\r\nConnection: close\r\n\r\n`
        answers.push(`${await ask(request, bare)}: bare ${request}`)
      }
    expect(answers.filter((answer) => !/^(200|302|400|401|404|415|422) /.test(answer))).toEqual([])
    expect(answers).toContain('404 not_found: QUERY /v1/events')
    expect(answers).toContain('404 not_found: bare QUERY /v1/events')
    await api.expectUnharmed()
  })
})
