import { describe, expect, it } from 'vitest'
import { createKey } from '../../src/api-keys/index.js'
import { insertSaga as insertSagaRow } from '../schema/general-sagas/fixtures.js'
import { useDatabase } from '../support/database.js'
import { insertSaga, insertStuckSaga } from '../support/sagas.js'
import { useApi } from './api-server.js'

const database = useDatabase()
let wakes = 0
const api = useApi(database, () => ({
  wakeups: {
    wake: (stage) => {
      if (stage === 'sagas') wakes += 1
    },
  },
}))
const get = (path: string) => api.call('GET', path)
const app = () => database.as('saga_app_role')

describe('sagas over HTTP', () => {
  it('[G6, G14] one with its steps and its whole history, in names', async () => {
    const id = await insertStuckSaga(app())
    const { status, body } = await get(`/v1/sagas/${id}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      id,
      definition: 'stuck',
      definitionVersion: 1,
      state: 'Failed',
      awaitingOperator: true,
      input: { order: 7 },
      result: null,
      leaseOwner: null,
      error: { code: 'refused', message: 'the bank is closed', cause: null },
      steps: [
        {
          index: 0,
          name: 'charge',
          state: 'Failed',
          output: { paid: 7 },
          compensation: { state: 'Failed', attempts: 1, error: { message: 'the bank is closed' } },
        },
        { index: 1, name: 'ship', attempts: 1, error: { message: 'no stock' } },
      ],
    })
    expect(body.events).toHaveLength(body.eventCount)
    expect(body.events.map(({ sequence }: { sequence: number }) => sequence)).toEqual(
      body.events.map((_: unknown, index: number) => index + 1),
    )
    expect(body.events[0]).toMatchObject({ type: 'saga.started', oldState: 'Pending', newState: 'Running' })
    expect(body.events.at(-1)).toMatchObject({
      type: 'saga.failed',
      oldState: 'Compensating',
      newState: 'Failed',
    })
  })

  it('[G10, G17] lists by state, definition, trace and need of an operator, page by page while others are started', async () => {
    const made: string[] = []
    const traceId = 'b'.repeat(32)
    for (const n of [1, 2, 3, 4, 5]) {
      made.unshift(await insertSaga(app(), { definition: 'paged', ...(n % 2 ? { traceId } : {}) }))
    }
    const walk = async (query: string) => {
      const ids: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await get(`/v1/sagas?limit=2&${query}${cursor && `&cursor=${cursor}`}`)
        ids.push(...body.data.map(({ id }: { id: string }) => id))
        cursor = body.nextCursor
        await insertSaga(app(), { definition: 'between' })
      }
      return ids
    }
    expect(await walk('definition=paged')).toEqual(made)
    expect(await walk('definition=paged&state=Pending')).toEqual(made)
    expect(await walk('definition=paged&state=Running')).toEqual([])
    expect(await walk(`traceId=${traceId}`)).toEqual(made.filter((_, index) => index % 2 === 0))
    expect(await walk('traceId=none')).toEqual([])
    expect((await get('/v1/sagas?definition=a%00b')).body.code).toBe('request_invalid')
    const pending = await walk('state=Pending')
    expect(pending.filter((id) => made.includes(id))).toEqual(made)
    const stuck = await insertStuckSaga(app())
    expect((await walk('awaitingOperator=true'))[0]).toBe(stuck)
    expect((await get('/v1/sagas?limit=1')).body.data[0]).not.toHaveProperty('input')
  })

  it('[G10] sagas of one moment are listed once each', async () => {
    const made: string[] = []
    for (let n = 0; n < 7; n++) {
      made.push(
        await insertSagaRow(app(), { definition_id: 'twin', created_at: '2026-01-02T03:04:05.678901Z' }),
      )
    }
    for (const query of ['definition=twin', 'state=Pending']) {
      const seen: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await get(`/v1/sagas?limit=2&${query}${cursor && `&cursor=${cursor}`}`)
        seen.push(...body.data.map(({ id }: { id: string }) => id))
        cursor = body.nextCursor
      }
      expect(seen.filter((id) => made.includes(id))).toEqual(made.toSorted().reverse())
    }
  })

  it('[G14] a cancel is recorded with the operator, the key and the reason, and wakes the coordinator', async () => {
    const id = await insertSaga(app())
    const { key, id: keyId } = await createKey(database.as('api_key_admin'), {
      name: 'ops',
      scope: 'operator',
    })
    wakes = 0
    const answer = await api.call('POST', `/v1/sagas/${id}/cancel`, {
      key,
      body: { by: 'ann', why: 'ordered twice' },
    })
    expect(answer).toMatchObject({
      status: 202,
      body: {
        state: 'Cancelled',
        cancelRequestedBy: `ann (API key ${keyId})`,
        cancelReason: 'ordered twice',
      },
    })
    expect(wakes).toBe(1)
    const again = await api.call('POST', `/v1/sagas/${id}/cancel`, { body: { by: 'bob', why: 'me too' } })
    expect(again).toMatchObject({ status: 202, body: { cancelReason: 'ordered twice' } })
  })

  it('[G14] a resolution is recorded with the operator, the key and the reason', async () => {
    const id = await insertStuckSaga(app())
    const body = { action: 'resolve', by: 'ann', why: 'paid back by hand' }
    const answer = await api.call('POST', `/v1/sagas/${id}/resolve`, { body })
    expect(answer).toMatchObject({ status: 200, body: { state: 'Failed', awaitingOperator: false } })
    const { events } = (await get(`/v1/sagas/${id}`)).body
    expect(events.at(-1)).toMatchObject({
      type: 'state.changed',
      data: { ...body, by: 'ann (API key of the administrator)' },
    })
    expect(await api.call('POST', `/v1/sagas/${id}/resolve`, { body })).toMatchObject({
      status: 409,
      body: { code: 'saga_not_awaiting_operator' },
    })
  })
})
