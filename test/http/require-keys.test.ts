import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { testConfig, useApi } from './api-server.js'

describe('a server that requires idempotency keys', () => {
  const database = useDatabase()
  const api = useApi(database, () => ({ config: { ...testConfig, requireIdempotencyKey: true } }))
  const event = { type: 'keyed', payload: 1 }
  const count = async () =>
    (await database.pool.query('SELECT count(*)::int FROM sagapost.events')).rows[0].count

  it('[E3] refuses an event without one, and accepts one from the body or the header', async () => {
    const refused = await api.call('POST', '/v1/events', { body: event })
    expect([refused.status, refused.body.code]).toEqual([400, 'idempotency_key_required'])
    expect(await count()).toBe(0)
    const inBody = await api.call('POST', '/v1/events', { body: { ...event, idempotencyKey: 'body' } })
    const headers = { 'idempotency-key': 'header' }
    const inHeader = await api.call('POST', '/v1/events', { body: event, headers })
    expect([inBody.status, inHeader.status, await count()]).toEqual([202, 202, 2])
  })

  it('[E3] refuses only the items of a batch that have none', async () => {
    const events = [event, { ...event, idempotencyKey: 'item' }]
    const { status, body } = await api.call('POST', '/v1/events/batch', { body: { events } })
    expect([status, body.results[0].error.code, body.results[1].duplicate]).toEqual([
      ...[202, 'idempotency_key_required', false],
    ])
    const headers = { 'idempotency-key': 'whole' }
    const whole = await api.call('POST', '/v1/events/batch', { body: { events }, headers })
    expect(whole.body.results.map((result: object) => 'error' in result)).toEqual([false, false])
  })
})
