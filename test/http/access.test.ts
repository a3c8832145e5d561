import { describe, expect, it } from 'vitest'
import { createKey, revokeKey, type Scope, scopes } from '../../src/api-keys/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { useDatabase } from '../support/database.js'
import { call, startTestApi, testConfig, useApi } from './api-server.js'

const database = useDatabase()
const api = useApi(database, () => ({ metrics: createMetrics() }))
const newKey = (scope: Scope) => createKey(database.as('api_key_admin'), { name: scope, scope })

/** Every call and the scopes that may make it; `admin` may make all of them. */
const matrix: Record<string, readonly Scope[]> = {
  'POST /v1/events': ['ingest'],
  'POST /v1/events/batch': ['ingest'],
  'GET /v1/events': ['read', 'operator'],
  'GET /v1/events/set-aside': ['read', 'operator'],
  'GET /v1/events/{id}': ['read', 'operator'],
  'POST /v1/subscriptions': ['subscriptions'],
  'GET /v1/subscriptions': ['read', 'operator', 'subscriptions'],
  'GET /v1/subscriptions/{id}': ['read', 'operator', 'subscriptions'],
  'PATCH /v1/subscriptions/{id}': ['subscriptions'],
  'DELETE /v1/subscriptions/{id}': ['subscriptions'],
  'POST /v1/subscriptions/{id}/verify': ['subscriptions', 'operator'],
  'POST /v1/subscriptions/{id}/test': ['subscriptions', 'operator'],
  'POST /v1/subscriptions/{id}/rotate-secret': ['subscriptions'],
  'GET /v1/deliveries': ['read', 'operator'],
  'GET /v1/deliveries/{id}': ['read', 'operator'],
  'POST /v1/deliveries/{id}/cancel': ['operator'],
  'GET /v1/dead-letters': ['read', 'operator'],
  'GET /v1/dead-letters/{id}': ['read', 'operator'],
  'POST /v1/dead-letters/{id}/requeue': ['operator'],
  'POST /v1/dead-letters/requeue': ['operator'],
  'GET /v1/sagas': ['read', 'operator'],
  'GET /v1/sagas/{id}': ['read', 'operator'],
  'POST /v1/sagas/{id}/cancel': ['operator'],
  'POST /v1/sagas/{id}/resolve': ['operator'],
  'POST /v1/signals': ['ingest', 'operator'],
  'GET /v1/statistics': ['read', 'operator'],
  'GET /v1/statistics/subscriptions': ['read', 'operator', 'subscriptions'],
  'GET /v1/system': ['read', 'operator'],
  'GET /v1/live': ['read', 'operator'],
  'GET /metrics': ['read', 'operator'],
}
const keyless = ['GET /healthz', 'GET /readyz']

describe('scopes', () => {
  it('[O2] every call of the document is in the matrix', async () => {
    const { paths } = (await api.call('GET', '/openapi.json')).body
    const calls = Object.entries(paths as Record<string, Record<string, unknown>>).flatMap(
      ([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    expect(calls.sort()).toEqual([...Object.keys(matrix), ...keyless].sort())
  })

  it('[O2] each may make its calls and no others', async () => {
    for (const scope of scopes) {
      const { key } = await newKey(scope)
      for (const [name, allowed] of Object.entries(matrix)) {
        const [method = '', path = ''] = name.split(' ')
        const { status, body } = await api.call(method, path.replace('{id}', '999999'), { key })
        const may = scope === 'admin' || allowed.includes(scope)
        expect([name, scope, status === 403]).toEqual([name, scope, !may])
        if (!may) expect(body.code).toBe('forbidden')
        expect(status).not.toBe(401)
        expect(status).toBeLessThan(500)
      }
    }
  })

  it('[O2] nothing of it works without a key; health, readiness, document and page do', async () => {
    for (const name of Object.keys(matrix)) {
      const [method = '', path = ''] = name.split(' ')
      const answer = await api.call(method, path.replace('{id}', '1'), { key: null })
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="sagapost"')
    }
    for (const path of [
      '/healthz',
      '/readyz',
      '/openapi.json',
      '/docs',
      '/docs/scalar.js',
      '/docs/start.js',
    ]) {
      expect((await api.call('GET', path, { key: null })).status).toBe(200)
    }
    await api.call('POST', '/v1/events', { body: { type: 'metered', payload: {} } })
    await api.call('POST', '/v1/events/batch', {
      body: { events: [{ type: 'metered', payload: {} }, { type: 'bad type' }] },
    })
    const { text } = await api.call('GET', '/metrics')
    expect(text).toContain('sagapost_events_ingested_total{outcome="stored"} 2\n')
    expect(text).toContain('sagapost_events_ingested_total{outcome="refused"} 1\n')
    expect(text).toContain(
      'sagapost_http_request_duration_seconds_count{method="POST",route="/v1/events",status="202"} 1\n',
    )
  })
})

describe('keys', () => {
  it.each([
    'Basic abc',
    'Bearer',
    'Bearer ',
    'bearer spk_x',
    'Bearer spk_x spk_y',
    'spk_x',
    'Bearer the-administrators-key',
  ])('[O2] "%s" is not a key', async (authorization) => {
    const server = await startTestApi(database.url)
    const answer = await call(`${server.url}/v1/events`, 'GET', { key: null, headers: { authorization } })
    expect(answer).toMatchObject({ status: 401, body: { code: 'unauthenticated' } })
    await server.stop()
  })

  it('[O2] a revoked key is refused within seconds', async () => {
    const { id, key } = await newKey('read')
    expect((await api.call('GET', '/v1/events', { key })).status).toBe(200)
    await revokeKey(database.as('api_key_admin'), id)
    await expect
      .poll(async () => (await api.call('GET', '/v1/events', { key })).status, { interval: 200 })
      .toBe(401)
  })

  it('[O2] too many bad keys from one address are 429; a good key is never refused, known or new', async () => {
    const server = await startTestApi(database.url)
    const { key } = await newKey('read')
    const other = await newKey('read')
    const status = async (with_: string) =>
      (await call(`${server.url}/v1/events`, 'GET', { key: with_ })).status
    expect(await status(key)).toBe(200)
    const bad = []
    for (let index = 0; index < 25; index++) bad.push(await status(`spk_bad-${index}`))
    expect(bad.slice(0, 20)).toEqual(Array(20).fill(401))
    expect(bad.slice(20)).toEqual(Array(5).fill(429))
    const refused = await call(`${server.url}/v1/events`, 'GET', { key: 'spk_bad' })
    expect(refused.body.code).toBe('too_many_bad_keys')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await status(key)).toBe(200)
    expect(await status('the-administrators-key-of-the-environment')).toBe(200)
    expect(await status(other.key)).toBe(200)
    await server.stop()
  })

  it('[O2] behind a trusted proxy bad keys are counted for the client, otherwise for the proxy', async () => {
    const statuses = async (trustedProxies: string) => {
      const server = await startTestApi(database.url, { config: { ...testConfig, trustedProxies } })
      const statusFrom = async (client: string) => {
        const headers = { 'x-forwarded-for': client }
        return (await call(`${server.url}/v1/events`, 'GET', { key: 'spk_bad', headers })).status
      }
      for (let index = 0; index < 20; index++) await statusFrom('192.0.2.1')
      const seen = [await statusFrom('192.0.2.1'), await statusFrom('192.0.2.2')]
      await server.stop()
      return seen
    }
    expect(await statuses('127.0.0.1')).toEqual([429, 401])
    expect(await statuses('10.0.0.0/8')).toEqual([429, 429])
    expect(await statuses('')).toEqual([429, 429])
  })

  it('[O2] a proxy that is not an address or a range prevents the start', async () => {
    const starting = startTestApi(database.url, { config: { ...testConfig, trustedProxies: 'proxy' } })
    await expect(starting).rejects.toThrow('SAGAPOST_TRUSTED_PROXIES: "proxy" is not an address range')
  })
})
