import fc from 'fast-check'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { EventRange } from '../../../src/database/index.js'
import { cancelDelivery } from '../../../src/delivery/index.js'
import { applyResults, takeResults } from '../../../src/delivery/orchestrator/apply-results.js'
import { endStopped } from '../../../src/delivery/orchestrator/end-stopped.js'
import {
  makeFirstJobs,
  makeJobs,
  makePassingJobs,
  makeRetryJobs,
} from '../../../src/delivery/orchestrator/make-jobs.js'
import { deleteSubscription } from '../../../src/subscriptions/index.js'
import { installStoppedClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { type Delivery, insertDelivery } from '../../support/fixtures.js'
import { withoutWaiting } from '../../support/lock-waiters.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { defaultRetryPolicy } from '../../support/retry-policy.js'
import { wholeWindow } from '../../support/whole-window.js'
import { applyResult, type DeliveryState, takeUp } from './decide-delivery.js'

const database = useDatabase()
const policy = defaultRetryPolicy
let range: EventRange

beforeAll(async () => {
  await installStoppedClock(database.pool)
  range = (await readWorkWindow(database.as('saga_orchestrator'))).fresh
})

const make = (limit = policy.limit) =>
  makeJobs(database.as('saga_orchestrator'), { range, batchMax: 100, limit })
const apply = async (limit = policy.limit, retryAfterMaxS = policy.retryAfterMaxS) => {
  const options = { batchMax: 100, policy: { ...policy, limit, retryAfterMaxS }, window: wholeWindow }
  return (await applyResults(database.as('saga_orchestrator'), options)).results
}

/** Whatever other tests have left is finished, so that each begins with nothing open. */
beforeEach(async () => {
  await moveClock(database.pool, '1 day')
  for (let round = 0; round < 10; round++) {
    await make(100)
    await finish(null, { succeeded: true })
    if ((await apply(100)).length === 0) return
  }
})

type Result = { succeeded: true } | { succeeded: false; errorCode: string; retryAfterS: number | null }

/** As a worker would: leases the active job of the delivery (or all there are) and reports. */
async function finish(delivery: Delivery | null, result: Result): Promise<void> {
  const of = delivery ? `AND saga_id = ${delivery.id}` : ''
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_jobs SET status = 'Leased', lease_token = gen_random_uuid(), worker_id = 'w'
     WHERE status = 'Pending' ${of}`,
  )
  await database.pool.query(
    `UPDATE sagapost.webhook_delivery_jobs SET status = $1, error_code = $2, retry_after_s = $3
     WHERE status = 'Leased' ${of}`,
    result.succeeded ? ['Completed', null, null] : ['Failed', result.errorCode, result.retryAfterS],
  )
}

async function read(delivery: Delivery): Promise<DeliveryState & { jobs: number; now: number }> {
  const { rows } = await database.pool.query(
    `SELECT status, attempt_count, extract(epoch FROM next_attempt_at) * 1000 AS next, final_error_code,
            extract(epoch FROM updated_at) * 1000 AS now,
            (SELECT count(*)::int FROM sagapost.webhook_delivery_jobs WHERE saga_id = saga.id) AS jobs
     FROM sagapost.webhook_delivery_sagas AS saga WHERE id = $1`,
    [delivery.id],
  )
  const [row] = rows
  return {
    status: row.status,
    attemptCount: row.attempt_count,
    nextAttemptAtMs: Number(row.next),
    finalErrorCode: row.final_error_code,
    jobs: row.jobs,
    now: Number(row.now),
  }
}

/** Does the work while another orchestrator has run the statement and not committed yet. */
async function whileAnother<T>(statement: string, values: unknown[], work: () => Promise<T>): Promise<T> {
  const other = await database.as('saga_orchestrator').connect()
  try {
    await other.query('BEGIN')
    await other.query(statement, values)
    const result = await withoutWaiting(database.pool, work())
    await other.query('COMMIT')
    return result
  } finally {
    other.release(true)
  }
}

const failure: Result = { succeeded: false, errorCode: 'http_500', retryAfterS: null }

describe('creating jobs', () => {
  it('[S7, S16, S9] a Pending delivery gets its first job, once', async () => {
    const delivery = await insertDelivery(database.pool)
    expect(await make()).toEqual({ first: 1, retries: 0, dead: [] })
    expect(await read(delivery)).toMatchObject({ status: 'InProgress', attemptCount: 0, jobs: 1 })
    expect(await make()).toEqual({ first: 0, retries: 0, dead: [] })
  })

  it('[S7, S16] a backlog of one subscription does not delay the deliveries of others', async () => {
    const backlog: Delivery[] = []
    const first = await insertDelivery(database.pool)
    for (let count = 0; count < 30; count++) {
      backlog.push(await insertDelivery(database.pool, 'Pending', first.subscriptionId))
    }
    const lone = await insertDelivery(database.pool)
    const pool = database.as('saga_orchestrator')
    await makeJobs(pool, { range, batchMax: 10, limit: policy.limit })
    expect(await read(lone)).toMatchObject({ status: 'Pending', jobs: 0 })
    const pass = (pastSaga: string) => makePassingJobs(pool, { range, batchMax: 100, pastSaga })
    // Of the subscription with the backlog, the twenty that stand first.
    expect(await pass('0')).toEqual({ made: 21, last: lone.id })
    expect(await read(lone)).toMatchObject({ status: 'InProgress', jobs: 1 })
    expect(await pass('0')).toEqual({ made: 1, last: lone.id })
    const next = await insertDelivery(database.pool)
    await insertDelivery(database.pool, 'InProgress')
    expect(await pass(next.id)).toMatchObject({ made: 0 })
    expect(await pass(lone.id)).toMatchObject({ made: 1 })
    expect(await read(next)).toMatchObject({ status: 'InProgress', jobs: 1 })
    await make()
    expect(await Promise.all([first, ...backlog].map(read))).toMatchObject(
      Array(31).fill({ status: 'InProgress', jobs: 1 }),
    )
  })

  it('[S10, S12] a retry gets its job when it is due and not before', async () => {
    const delivery = await insertDelivery(database.pool)
    await make()
    await finish(delivery, failure)
    await apply()
    expect(await make()).toEqual({ first: 0, retries: 0, dead: [] })
    await moveClock(database.pool, '29.999999 seconds')
    expect(await make()).toEqual({ first: 0, retries: 0, dead: [] })
    await moveClock(database.pool, '1 microsecond')
    expect(await make()).toEqual({ first: 0, retries: 1, dead: [] })
    const { rows } = await database.pool.query(
      'SELECT attempt FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1 ORDER BY attempt_at',
      [delivery.id],
    )
    expect(rows).toEqual([{ attempt: 1 }, { attempt: 2 }])
  })

  it('[S15, J11] a limit lowered while a delivery waits takes effect at its next decision, which names the last job', async () => {
    const delivery = await insertDelivery(database.pool)
    for (let n = 0; n < 2; n++) {
      await make()
      await finish(delivery, failure)
      await apply()
      await moveClock(database.pool, '1 hour')
    }
    await database.pool.query('UPDATE sagapost.subscriptions SET max_attempts = 2 WHERE id = $1', [
      delivery.subscriptionId,
    ])
    const { rows } = await database.pool.query(
      `SELECT id, lease_until FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1 AND attempt = 2`,
      [delivery.id],
    )
    const last = { jobId: rows[0].id, workerId: 'w', leaseExpiration: rows[0].lease_until }
    expect(await make()).toMatchObject({
      first: 0,
      retries: 0,
      dead: [{ deliveryId: delivery.id, attemptCount: 2, errorCode: 'http_500', ...last }],
    })
    expect(await read(delivery)).toMatchObject({ status: 'DeadLettered', attemptCount: 2, jobs: 2 })
  })

  it('[S7, S19] a requeued delivery gets its first job like any other, the dead one none', async () => {
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    const { rows } = await database.as('dead_letter_operator').query(
      `SELECT requeued.delivery_id AS id FROM sagapost.dead_letters AS letter
       CROSS JOIN LATERAL sagapost.requeue_dead_letter(letter.id) AS requeued WHERE saga_id = $1`,
      [dead.id],
    )
    expect(await make()).toEqual({ first: 1, retries: 0, dead: [] })
    expect(await read({ ...dead, id: rows[0].id })).toMatchObject({ status: 'InProgress', jobs: 1 })
    expect(await read(dead)).toMatchObject({ status: 'DeadLettered', jobs: 0 })
  })

  it('[S16, S9] passes over deliveries that another orchestrator has locked', async () => {
    const delivery = await insertDelivery(database.pool)
    const meanwhile = await whileAnother(makeFirstJobs, [range.from, range.to, 100], () => make())
    expect(meanwhile).toEqual({ first: 0, retries: 0, dead: [] })
    expect(await read(delivery)).toMatchObject({ status: 'InProgress', jobs: 1 })
    await finish(delivery, failure)
    await apply()
    await moveClock(database.pool, '30 seconds')
    expect(await whileAnother(makeRetryJobs, [range.from, range.to, 100, 5], () => make())).toEqual(meanwhile)
    expect(await read(delivery)).toMatchObject({ status: 'InProgress', jobs: 2 })
  })

  it('[S16, S9] concurrent orchestrators create one job for each delivery', async () => {
    const deliveries = []
    for (let n = 0; n < 30; n++) deliveries.push(await insertDelivery(database.pool))
    await Promise.all(Array.from({ length: 4 }, () => make()))
    for (const delivery of deliveries)
      expect(await read(delivery)).toMatchObject({ status: 'InProgress', jobs: 1 })
  })
})

describe('applying results', () => {
  it('[S13, S18, S4] a success completes the delivery, counts once, and clears the error', async () => {
    const delivery = await insertDelivery(database.pool)
    await make()
    await finish(delivery, failure)
    await apply()
    await moveClock(database.pool, '30 seconds')
    await make()
    await finish(delivery, { succeeded: true })
    expect(await apply()).toMatchObject([
      { deliveryId: delivery.id, status: 'Completed', attemptCount: 2, errorCode: null },
    ])
    expect(await apply()).toEqual([])
    expect(await read(delivery)).toMatchObject({
      status: 'Completed',
      attemptCount: 2,
      finalErrorCode: null,
      jobs: 2,
    })
  })

  it('[S17, S14, D3] failures are retried by the formula and end as a dead letter at the limit', async () => {
    const delivery = await insertDelivery(database.pool)
    for (const [attempt, delayS] of [30, 60, 120, 240].entries()) {
      await make()
      await finish(delivery, failure)
      expect(await apply()).toMatchObject([{ status: 'PendingRetry', attemptCount: attempt + 1 }])
      const state = await read(delivery)
      expect(state.nextAttemptAtMs - state.now).toBe(delayS * 1000)
      await moveClock(database.pool, `${delayS} seconds`)
    }
    await make()
    await finish(delivery, failure)
    expect(await apply()).toMatchObject([{ status: 'DeadLettered', attemptCount: 5 }])
    expect(await read(delivery)).toMatchObject({
      status: 'DeadLettered',
      attemptCount: 5,
      finalErrorCode: 'http_500',
      jobs: 5,
    })
    const { rows } = await database.pool.query('SELECT FROM sagapost.dead_letters WHERE saga_id = $1', [
      delivery.id,
    ])
    expect(rows).toHaveLength(1)
  })

  it('[S14] the delay doubles up to one hour', async () => {
    const delivery = await insertDelivery(database.pool)
    for (const delayS of [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]) {
      await make(100)
      await finish(delivery, failure)
      await apply(100)
      const state = await read(delivery)
      expect(state.nextAttemptAtMs - state.now).toBe(delayS * 1000)
      await moveClock(database.pool, `${delayS} seconds`)
    }
  })

  it.each([
    [1, 'lower'],
    [7, 'higher'],
  ])('[S15, S17] the subscription’s limit of %i applies, though it is %s than the default', async (limit) => {
    const delivery = await insertDelivery(database.pool)
    await database.pool.query('UPDATE sagapost.subscriptions SET max_attempts = $2 WHERE id = $1', [
      delivery.subscriptionId,
      limit,
    ])
    for (let attempt = 1; attempt <= limit; attempt++) {
      await make()
      await finish(delivery, failure)
      const status = attempt < limit ? 'PendingRetry' : 'DeadLettered'
      expect(await apply()).toMatchObject([{ status, attemptCount: attempt }])
      await moveClock(database.pool, '1 hour')
    }
  })

  it.each([
    [null, 30],
    [10, 30],
    [90, 90],
    [3_600, 3_600],
    [86_400, 3_600],
  ])('[S14] Retry-After of %s s gives a delay of %s s', async (retryAfterS, delayS) => {
    const delivery = await insertDelivery(database.pool)
    await make()
    await finish(delivery, { succeeded: false, errorCode: 'http_503', retryAfterS })
    await apply()
    const state = await read(delivery)
    expect(state.nextAttemptAtMs - state.now).toBe(delayS * 1000)
  })

  it('[S14] an operator can allow a longer Retry-After than the longest delay', async () => {
    const delivery = await insertDelivery(database.pool)
    await make()
    await finish(delivery, { succeeded: false, errorCode: 'http_503', retryAfterS: 999_999 })
    await apply(policy.limit, 86_400)
    const state = await read(delivery)
    expect(state.nextAttemptAtMs - state.now).toBe(86_400_000)
  })

  it('[S4, S13] a result leaves the queue in the transaction that counts it', async () => {
    const delivery = await insertDelivery(database.pool)
    await make()
    await finish(delivery, failure)
    const waiting = async () => {
      const { rows } = await database.pool.query(
        'SELECT saga_id FROM sagapost.unapplied_results WHERE saga_id = $1',
        [delivery.id],
      )
      return rows.length
    }
    expect(await waiting()).toBe(1)
    await apply()
    expect(await waiting()).toBe(0)
  })

  it('[S17, D3] a dead letter that cannot be written leaves the result to be applied', async () => {
    const delivery = await insertDelivery(database.pool)
    await make()
    await finish(delivery, failure)
    await database.pool.query(
      `ALTER TABLE sagapost.dead_letters ADD CONSTRAINT out_of_order CHECK (saga_id <> ${delivery.id})`,
    )
    try {
      await expect(apply(1)).rejects.toThrow('out_of_order')
    } finally {
      await database.pool.query('ALTER TABLE sagapost.dead_letters DROP CONSTRAINT out_of_order')
    }
    expect(await read(delivery)).toMatchObject({
      status: 'InProgress',
      attemptCount: 0,
      finalErrorCode: null,
    })
    expect(await apply(1)).toMatchObject([{ status: 'DeadLettered', attemptCount: 1 }])
  })

  it('[S13, S4] passes over results that another orchestrator has locked', async () => {
    const delivery = await insertDelivery(database.pool)
    await make()
    await finish(delivery, failure)
    expect(await whileAnother(takeResults, [100, []], () => apply())).toEqual([])
    expect(await apply()).toMatchObject([{ status: 'PendingRetry', attemptCount: 1 }])
    expect(await read(delivery)).toMatchObject({ status: 'PendingRetry', attemptCount: 1 })
  })

  it('[S13, S4] concurrent orchestrators count every result once', async () => {
    const deliveries = []
    for (let n = 0; n < 30; n++) deliveries.push(await insertDelivery(database.pool))
    await make()
    await finish(null, failure)
    const applied = (await Promise.all(Array.from({ length: 4 }, () => apply()))).flat()
    expect(applied).toHaveLength(30)
    for (const delivery of deliveries) expect(await read(delivery)).toMatchObject({ attemptCount: 1 })
  })
})

describe('the decision', () => {
  const states = fc.record({
    status: fc.constantFrom('Pending', 'InProgress', 'PendingRetry', 'Completed', 'DeadLettered'),
    attemptCount: fc.nat(120),
    nextAttemptAtMs: fc.nat(1_000_000),
    finalErrorCode: fc.option(fc.constant('http_500')),
  }) as fc.Arbitrary<DeliveryState>
  const results: fc.Arbitrary<Result> = fc.oneof(
    fc.constant<Result>({ succeeded: true }),
    fc.record({
      succeeded: fc.constant(false as const),
      errorCode: fc.constantFrom('http_500', 'timeout'),
      retryAfterS: fc.option(fc.nat(200_000)),
    }),
  )
  const limits = fc.integer({ min: 1, max: 100 })

  it('[S11, S12, S13, S17] keeps every rule for any state, result, limit and clock', () => {
    fc.assert(
      fc.property(states, results, limits, fc.nat(1_000_000), (state, result, limit, nowMs) => {
        const after = applyResult(state, result, { nowMs, limit, policy })
        if (state.status !== 'InProgress') {
          expect(after).toEqual(state)
          return
        }
        expect(after.attemptCount).toBe(state.attemptCount + 1)
        if (result.succeeded) {
          expect(after).toMatchObject({ status: 'Completed', finalErrorCode: null })
          return
        }
        expect(after.status).toBe(after.attemptCount < limit ? 'PendingRetry' : 'DeadLettered')
        expect(after.finalErrorCode).toBe(result.errorCode)
        const waitMs = after.nextAttemptAtMs - nowMs
        expect(waitMs).toBeGreaterThanOrEqual(policy.baseDelayMs)
        expect(waitMs).toBeLessThanOrEqual(86_400_000)
      }),
      { numRuns: 2000 },
    )
    fc.assert(
      fc.property(states, limits, fc.nat(1_000_000), (state, limit, nowMs) => {
        const after = takeUp(state, { nowMs, limit })
        expect({ ...after, status: state.status }).toEqual(state)
        if (state.status === 'Pending') expect(after.status).toBe('InProgress')
        else if (state.status === 'PendingRetry' && state.nextAttemptAtMs <= nowMs) {
          expect(after.status).toBe(state.attemptCount < limit ? 'InProgress' : 'DeadLettered')
        } else expect(after).toEqual(state)
      }),
      { numRuns: 2000 },
    )
  })

  it('[S14, S15, S17] matches the SQL on random histories', async () => {
    const stops = ['subscription_deleted', 'cancelled'] as const
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ kind: fc.constant('result' as const), result: results }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.nat(4000) }) },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('limit' as const), limit: fc.integer({ min: 1, max: 8 }) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ kind: fc.constant('stop' as const), by: fc.constantFrom(...stops) }),
      },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 12 }), async (history) => {
        const delivery = await insertDelivery(database.pool)
        let limit = policy.limit
        let stop: (typeof stops)[number] | null = null
        let model: DeliveryState = {
          status: 'Pending',
          attemptCount: 0,
          nextAttemptAtMs: 0,
          finalErrorCode: null,
        }
        for (const event of history) {
          if (event.kind === 'wait') await moveClock(database.pool, `${event.seconds} seconds`)
          if (event.kind === 'stop' && stop === null && ['Pending', 'PendingRetry'].includes(model.status)) {
            stop = event.by
            if (stop === 'cancelled') await cancelDelivery(database.as('dead_letter_operator'), delivery.id)
            else await deleteSubscription(database.as('subscription_admin'), delivery.subscriptionId)
            await endStopped(database.as('saga_orchestrator'), { range, batchMax: 100 })
            if (model.status === 'PendingRetry') model = takeUp(model, { nowMs: 0, limit, stop })
          }
          if (event.kind === 'limit' && stop !== 'subscription_deleted') {
            limit = event.limit
            await database.pool.query('UPDATE sagapost.subscriptions SET max_attempts = $2 WHERE id = $1', [
              delivery.subscriptionId,
              limit,
            ])
          }
          if (event.kind === 'result') {
            const { rows } = await database.pool.query(
              `SELECT extract(epoch FROM sagapost.now()) * 1000 AS now`,
            )
            await make()
            model = takeUp(model, { nowMs: Number(rows[0].now), limit, stop })
            if (model.status === 'InProgress') {
              await finish(delivery, event.result)
              await apply()
              const nowMs = (await read(delivery)).now
              model = applyResult(model, event.result, { nowMs, limit, stop, policy })
            }
          }
          const { status, attemptCount, nextAttemptAtMs, finalErrorCode } = await read(delivery)
          expect({ status, attemptCount, finalErrorCode }).toEqual({
            status: model.status,
            attemptCount: model.attemptCount,
            finalErrorCode: model.finalErrorCode,
          })
          if (status === 'PendingRetry') expect(nextAttemptAtMs).toBeCloseTo(model.nextAttemptAtMs, 0)
        }
      }),
      { numRuns: 40 },
    )
  })
})
