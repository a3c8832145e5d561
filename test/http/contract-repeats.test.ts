import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { call, startTestApi, useApi } from './api-server.js'

const database = useDatabase()
const api = useApi(database)

const stored = async (type: string) =>
  (
    await database.pool.query(
      'SELECT id, payload::text AS payload FROM sagapost.events WHERE event_type = $1',
      [type],
    )
  ).rows

const hundred = Array.from({ length: 100 }, (_, index) => index)

describe('a hundred concurrent posts with one key', () => {
  it('[E3] are one event with one id, and 99 duplicates', async () => {
    const body = { type: 'same', payload: { order: 7 }, idempotencyKey: 'same' }
    const answers = await Promise.all(hundred.map(() => api.call('POST', '/v1/events', { body })))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(100)
    expect(answers.filter((answer) => answer.body.duplicate === false)).toHaveLength(1)
    expect(answers.filter((answer) => answer.body.duplicate === true)).toHaveLength(99)
    const [event, ...more] = await stored('same')
    expect(more).toEqual([])
    for (const answer of answers) {
      expect({ ...answer.body, duplicate: true }).toEqual({ ...answers[0]?.body, duplicate: true })
      expect(answer.body.id).toBe(event.id)
    }
  })

  it('[E3] to two servers, the key in the header or in the body, are one event as well', async () => {
    const other = await startTestApi(database.url)
    const answers = await Promise.all(
      hundred.map((index) => {
        const inBody = { body: { type: 'two', payload: 1, idempotencyKey: 'two' } }
        const inHeader = { body: { type: 'two', payload: 1 }, headers: { 'idempotency-key': 'two' } }
        const url = index % 2 ? api.url : other.url
        return call(`${url}/v1/events`, 'POST', index % 4 < 2 ? inBody : inHeader)
      }),
    )
    await other.stop()
    expect(answers.map(({ status }) => status)).toEqual(hundred.map(() => 202))
    expect(answers.filter((answer) => !answer.body.duplicate)).toHaveLength(1)
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1)
    expect(await stored('two')).toHaveLength(1)
  })

  it('[E3] half of them with other bytes: one half is the event and its duplicates, the other is 409', async () => {
    const payloads = ['{"order":7}', '{"order": 7}']
    const answers = await Promise.all(
      hundred.map((index) =>
        api.call('POST', '/v1/events', {
          body: `{"type":"halves","payload":${payloads[index % 2]},"idempotencyKey":"halves"}`,
        }),
      ),
    )
    const [event, ...more] = await stored('halves')
    expect(more).toEqual([])
    const winner = payloads.indexOf(event.payload)
    for (const [index, { status, body }] of answers.entries()) {
      if (index % 2 === winner) expect([status, body.id]).toEqual([202, event.id])
      else expect([status, body.code]).toEqual([409, 'idempotency_conflict'])
    }
    expect(answers.filter(({ body }) => body.duplicate === false)).toHaveLength(1)
    expect(answers.filter(({ body }) => body.duplicate === true)).toHaveLength(49)
  })

  it('[E3] in one batch are one event, its duplicates and conflicts, in order', async () => {
    const events = hundred.map((index) => ({ type: 'batch', payload: index % 2, idempotencyKey: 'batch' }))
    const { status, body } = await api.call('POST', '/v1/events/batch', { body: { events } })
    expect(status).toBe(202)
    const [event, ...more] = await stored('batch')
    expect([more, event.payload]).toEqual([[], '0'])
    for (const [index, result] of body.results.entries()) {
      if (index % 2) expect(result).toMatchObject({ error: { code: 'idempotency_conflict' } })
      else expect(result).toMatchObject({ id: event.id, duplicate: index > 0 })
    }
  })
})
