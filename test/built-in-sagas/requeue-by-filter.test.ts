import { pino } from 'pino'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { discardEndedRequeues } from '../../src/built-in-sagas/discard-ended-requeues.js'
import { countMatching, requeueDeadLetters } from '../../src/built-in-sagas/index.js'
import type { RequeueFilter } from '../../src/built-in-sagas/requeue-dead-letters.js'
import { requeueDeadLetter } from '../../src/delivery/index.js'
import { createWakeups, type Signal } from '../../src/loop/index.js'
import { createMetrics } from '../../src/observability/index.js'
import { startSagas } from '../../src/runtime/start-sagas.js'
import { cancelSaga, createPostgresStorage, showSaga } from '../../src/sagas/index.js'
import { useDatabase } from '../support/database.js'
import { insertDeadLetters, insertDeadLettersIn, requeuedTimes } from '../support/dead-letters.js'
import { insertSubscription } from '../support/fixtures.js'

const database = useDatabase()
const stops: (() => Promise<void>)[] = []
const operator = () => database.as('dead_letter_operator')
const runner = () => database.as('saga_app_role')

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** The part `sagas`, without any definition of an application. */
function runSagas() {
  const woken: Signal[] = []
  const wakeups = createWakeups()
  wakeups.passOnTo((signal) => woken.push(signal))
  const metrics = createMetrics()
  const sagas = startSagas({
    databaseUrl: database.url,
    definitions: [],
    preparedStatements: true,
    log: pino({ level: 'silent' }),
    metrics,
    wakeups,
  })
  stops.push(sagas.stop)
  return { ...sagas, woken, metrics }
}

const start = (filter: RequeueFilter, idempotencyKey?: string) =>
  requeueDeadLetters(operator(), filter, { idempotencyKey })

async function look(sagaId: string) {
  const saga = await showSaga(database.as('saga_readonly_role'), sagaId)
  if (saga === null) throw new Error(`there is no saga ${sagaId}`)
  return { ...saga, progress: saga.steps[0]?.progress }
}

async function ended(sagaId: string) {
  await expect.poll(async () => (await look(sagaId)).completedAt).not.toBeNull()
  return look(sagaId)
}

const batchesLeft = async (sagaId: string) =>
  (await database.pool.query('SELECT FROM sagapost.requeue_batches WHERE saga_id = $1', [sagaId])).rowCount

const setActive = (id: string, active: boolean) =>
  database.pool.query('UPDATE sagapost.subscriptions SET active = $2 WHERE id = $1', [id, active])

describe('a requeue by filter', () => {
  it('[D4, S19] requeues what the filter matches, once, and reports how many', async () => {
    const subscriptionId = await insertSubscription(database.pool)
    const letters = await insertDeadLetters(database.pool, { count: 1_234, subscriptionId })
    const others = await insertDeadLetters(database.pool, { count: 7, subscriptionId, errorCode: 'timeout' })
    const { woken, metrics } = runSagas()
    const { sagaId, matching, created } = await start({ subscriptionId, errorCode: 'http_500' })
    expect({ matching, created }).toEqual({ matching: 1_234, created: true })
    const counts = {
      matching: 1_234,
      requeued: 1_234,
      alreadyRequeued: 0,
      refused: 0,
      refusals: {},
      remaining: 0,
    }
    expect(await ended(sagaId)).toMatchObject({
      definition: 'sagapost.requeue-dead-letters',
      state: 'Completed',
      input: { subscriptionId, errorCode: 'http_500' },
      progress: counts,
      result: counts,
    })
    expect(await requeuedTimes(database.pool, letters)).toEqual({ 1: 1_234 })
    expect(await requeuedTimes(database.pool, others)).toEqual({ 0: 7 })
    expect(await batchesLeft(sagaId)).toBe(0)
    expect(woken).toContain('first-jobs')
    expect((await metrics.render()).body).toContain('sagapost_requeues_total{outcome="created"} 1234')
    // As the single one makes them.
    const { rows } = await database.pool.query(
      `SELECT DISTINCT status::text, attempt_count, subscription_id FROM sagapost.webhook_delivery_sagas
       WHERE requeued_from = ANY ($1)`,
      [letters],
    )
    expect(rows).toEqual([{ status: 'Pending', attempt_count: 0, subscription_id: subscriptionId }])
  })

  it('[D4] that matches nothing ends at once', async () => {
    runSagas()
    const { sagaId, matching } = await start({ errorCode: 'tls_invalid_certificate' })
    expect(matching).toBe(0)
    expect(await ended(sagaId)).toMatchObject({ state: 'Completed', progress: { matching: 0, remaining: 0 } })
  })

  it('[D4] leaves out dead letters that are created after the request, even with a lower id', async () => {
    const subscriptionId = await insertSubscription(database.pool)
    const letters = await insertDeadLetters(database.pool, { count: 5, subscriptionId })
    // Written before, committed after: its id is lower than that of the last one.
    const late = await database.pool.connect()
    await late.query('BEGIN')
    const [held] = await insertDeadLettersIn(late, { count: 1, subscriptionId })
    letters.push(...(await insertDeadLetters(database.pool, { count: 5, subscriptionId })))
    const { sagaId, matching } = await start({ subscriptionId })
    await late.query('COMMIT')
    late.release()
    const [after] = await insertDeadLetters(database.pool, { count: 1, subscriptionId })
    expect(matching).toBe(10)
    expect(Number(held)).toBeLessThan(Number(letters.at(-1)))
    runSagas()
    expect(await ended(sagaId)).toMatchObject({ progress: { matching: 10, requeued: 10, remaining: 0 } })
    expect(await requeuedTimes(database.pool, letters)).toEqual({ 1: 10 })
    expect(await requeuedTimes(database.pool, [held as string, after as string])).toEqual({ 0: 2 })
  })

  it('[D4, U5] counts what it cannot requeue, with the reason, and what others requeue meanwhile, but not what was requeued before', async () => {
    const type = 'order.refused'
    const [active, inactive, deleted] = await Promise.all([
      insertSubscription(database.pool, { type }),
      insertSubscription(database.pool, { type }),
      insertSubscription(database.pool, { type }),
    ])
    const insert = (subscriptionId: string, count: number) =>
      insertDeadLetters(database.pool, { count, subscriptionId, type })
    const letters = await insert(active, 600)
    const refused = [...(await insert(inactive, 30)), ...(await insert(deleted, 20))]
    const requeue = async (...taken: (string | undefined)[]) => {
      for (const letter of taken) await requeueDeadLetter(operator(), letter as string)
    }
    await requeue(letters[0], letters[599], refused[0])
    await setActive(inactive, false)
    await database.pool.query(
      'UPDATE sagapost.subscriptions SET active = false, deleted_at = sagapost.now() WHERE id = $1',
      [deleted],
    )
    expect(await countMatching(database.as('saga_readonly_role'), { eventType: type })).toBe(647)
    const { sagaId, matching } = await start({ eventType: type })
    expect(matching).toBe(647)
    await requeue(letters[300], letters[301])
    runSagas()
    expect((await ended(sagaId)).progress).toEqual({
      matching: 647,
      requeued: 596,
      alreadyRequeued: 2,
      refused: 49,
      refusals: { subscription_inactive: 29, subscription_deleted: 20 },
      remaining: 0,
    })
    expect(await requeuedTimes(database.pool, [...letters, ...refused])).toEqual({ 0: 49, 1: 601 })
  })

  it('[D4, S19] beside single requeues and another batch over the same dead letters: each is requeued once and all counts agree', async () => {
    const subscriptionId = await insertSubscription(database.pool)
    const letters = await insertDeadLetters(database.pool, { count: 4_000, subscriptionId })
    runSagas()
    runSagas()
    const [one, two] = await Promise.all([
      start({ subscriptionId }),
      start({ subscriptionId, errorCode: 'http_500' }),
    ])
    let singles = 0
    for (let index = letters.length - 1; index > 0; index -= 40) {
      if ((await requeueDeadLetter(operator(), letters[index] as string)).created) singles++
    }
    const ends = [await ended(one.sagaId), await ended(two.sagaId)].map(
      ({ progress }) => progress as never,
    ) as {
      requeued: number
      alreadyRequeued: number
    }[]
    expect(await requeuedTimes(database.pool, letters)).toEqual({ 1: 4_000 })
    for (const end of ends) {
      expect(end).toMatchObject({ matching: 4_000, refused: 0, remaining: 0 })
      expect(end.requeued + end.alreadyRequeued).toBe(4_000)
    }
    expect(ends.reduce((sum, { requeued }) => sum + requeued, singles)).toBe(4_000)
  })

  /** 1,500 dead letters in three batches; the second is blocked by a change of its subscription. */
  async function insertHeldLetters(type: string) {
    const [free, held] = [
      await insertSubscription(database.pool, { type }),
      await insertSubscription(database.pool, { type }),
    ]
    const letters: string[] = []
    for (const subscriptionId of [free, held, free]) {
      letters.push(...(await insertDeadLetters(database.pool, { count: 500, subscriptionId, type })))
    }
    const holder = await database.pool.connect()
    await holder.query('BEGIN')
    await holder.query('SELECT FROM sagapost.subscriptions WHERE id = $1 FOR UPDATE', [held])
    const letGo = async () => {
      await holder.query('ROLLBACK')
      holder.release()
    }
    return { letters, letGo }
  }
  const begun = (sagaId: string) =>
    expect.poll(async () => (await look(sagaId)).progress?.['requeued']).toBeGreaterThan(0)

  it('[D4] cancelled before it begins, or between two batches, requeues no more; finished batches stay', async () => {
    const eventType = 'order.cancelled'
    const { letters, letGo } = await insertHeldLetters(eventType)
    const cancel = (id: string) =>
      cancelSaga(createPostgresStorage({ pool: runner() }), id, { by: 'test', reason: 'enough' })
    const early = await start({ eventType })
    await cancel(early.sagaId)
    const { sagaId } = await start({ eventType })
    const { coordinator } = runSagas()
    expect(await ended(early.sagaId)).toMatchObject({ state: 'Cancelled', progress: { requeued: 0 } })
    // It had nothing to undo: what it had planned goes with the next clean-up.
    await discardEndedRequeues(runner())
    expect(await batchesLeft(early.sagaId)).toBe(0)
    await begun(sagaId)
    await cancel(sagaId)
    coordinator.wake()
    const { state, progress } = await ended(sagaId)
    await letGo()
    expect(state).toBe('Cancelled')
    expect(progress).toMatchObject({ requeued: 500, remaining: 1_000 })
    expect(await requeuedTimes(database.pool, letters)).toEqual({ 0: 1_000, 1: 500 })
    expect(await batchesLeft(sagaId)).toBe(0)
  })

  it('[D4] the plan of a requeue that was cancelled before it began is removed by the part itself', async () => {
    const eventType = 'order.left'
    const subscriptionId = await insertSubscription(database.pool, { type: eventType })
    await insertDeadLetters(database.pool, { count: 3, subscriptionId, type: eventType })
    const { sagaId } = await start({ eventType })
    await cancelSaga(createPostgresStorage({ pool: runner() }), sagaId, { by: 'test', reason: 'enough' })
    runSagas()
    expect(await ended(sagaId)).toMatchObject({ state: 'Cancelled' })
    await stops.pop()?.()
    runSagas()
    await expect.poll(() => batchesLeft(sagaId)).toBe(0)
  })

  it('[D4] releases its saga soon after its process stops, and another process continues', async () => {
    const eventType = 'order.stopped'
    const { letters, letGo } = await insertHeldLetters(eventType)
    const first = runSagas()
    const { sagaId } = await start({ eventType })
    await begun(sagaId)
    stops.splice(stops.indexOf(first.stop), 1)
    await first.stop()
    const { leaseOwner, progress } = await look(sagaId)
    expect(leaseOwner).toBeNull()
    expect(progress).toMatchObject({ requeued: 500, remaining: 1_000 })
    await letGo()
    runSagas()
    expect(await ended(sagaId)).toMatchObject({ state: 'Completed', progress: { requeued: 1_500 } })
    expect(await requeuedTimes(database.pool, letters)).toEqual({ 1: 1_500 })
  })
})

describe('requesting a requeue', () => {
  let subscriptionId: string
  beforeAll(async () => {
    subscriptionId = await insertSubscription(database.pool)
    await insertDeadLetters(database.pool, { count: 12, subscriptionId })
  })

  it('[O8] again with the same key returns the first; with another filter it is refused', async () => {
    const first = await start({ subscriptionId, to: new Date('2100-01-01') }, 'key-1')
    await insertDeadLetters(database.pool, { count: 1, subscriptionId })
    expect(await start({ to: new Date('2100-01-01T00:00:00Z'), subscriptionId }, 'key-1')).toEqual({
      ...first,
      created: false,
    })
    await expect(start({ subscriptionId }, 'key-1')).rejects.toMatchObject({ code: 'idempotency_conflict' })
    const answers = await Promise.all(Array.from({ length: 10 }, () => start({ subscriptionId }, 'key-2')))
    expect(new Set(answers.map(({ sagaId }) => sagaId)).size).toBe(1)
    expect(answers.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(answers.map(({ matching }) => matching))).toEqual(new Set([13]))
  })

  it('[D4] counts as the list does, with every filter, without those already requeued', async () => {
    const count = (filter: RequeueFilter) => countMatching(database.as('saga_readonly_role'), filter)
    const { rows } = await database.pool.query(
      `SELECT count(*)::int AS all, count(*) FILTER (WHERE final_error_code = 'timeout')::int AS timeout
       FROM sagapost.dead_letters AS letter
       WHERE id NOT IN (SELECT requeued_from FROM sagapost.webhook_delivery_sagas WHERE requeued_from IS NOT NULL)`,
    )
    expect(await count({ all: true })).toBe(rows[0].all)
    expect(await count({ errorCode: 'timeout' })).toBe(rows[0].timeout)
    expect(await count({ subscriptionId, to: new Date(0) })).toBe(0)
    expect(await count({ subscriptionId, from: new Date(0), eventType: 'order.placed' })).toBe(13)
    for (const filter of [{ all: true }, { errorCode: 'timeout' }, { subscriptionId }] as RequeueFilter[]) {
      expect((await start(filter)).matching).toBe(await count(filter))
    }
  })

  it.each<[string, object]>([
    ['requeue_filter_empty', {}],
    ['requeue_filter_empty', { all: false }],
    ['query_invalid', { all: true, errorCode: 'timeout' }],
    ['query_invalid', { subscriptionId: 'x' }],
    ['query_invalid', { errorCode: 'HTTP 500' }],
    ['query_invalid', { from: new Date(Number.NaN) }],
    ['event_type_invalid', { eventType: 'a b' }],
  ])('[O7] is refused with %s: %j', async (code, filter) => {
    const before = await database.pool.query('SELECT count(*) FROM sagapost.saga_instances')
    const refusal = { name: 'SagapostError', code }
    await expect(start(filter as RequeueFilter)).rejects.toMatchObject(refusal)
    const count = countMatching(database.as('saga_readonly_role'), filter as RequeueFilter)
    await expect(count).rejects.toMatchObject(refusal)
    expect((await database.pool.query('SELECT count(*) FROM sagapost.saga_instances')).rows).toEqual(
      before.rows,
    )
  })
})
