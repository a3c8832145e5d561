import { describe, expect, it } from 'vitest'
import { deliveryMachine, isFinal, jobMachine } from '../../src/model/index.js'
import { useDatabase } from '../support/database.js'
import { insertDelivery, insertJob } from '../support/fixtures.js'
import { isLegalMove } from '../support/is-legal-move.js'
import { codeOf } from '../support/refusal.js'

const database = useDatabase()

const writers = {
  delivery: { part: 'saga_orchestrator', owner: undefined },
  job: { part: 'job_worker', owner: undefined },
} as const

describe('the state machines in src and in the database', () => {
  it.each([
    ['delivery_status', deliveryMachine],
    ['job_status', jobMachine],
  ] as const)('[S5, J12] have the same statuses: %s', async (type, machine) => {
    const { rows } = await database.pool.query(
      `SELECT array_agg(enumlabel::text ORDER BY enumsortorder) AS labels
       FROM pg_enum WHERE enumtypid = ('sagapost.' || $1)::regtype`,
      [type],
    )
    expect(rows[0].labels).toEqual(machine.statuses)
  })
})

describe.each(['part', 'owner'] as const)('every pair of delivery statuses, as the %s', (who) => {
  const role = writers.delivery[who]
  for (const from of deliveryMachine.statuses) {
    for (const to of deliveryMachine.statuses) {
      const legal = isLegalMove(deliveryMachine, from, to)
      it(`[S5, S6] ${from} → ${to} is ${legal ? 'made' : 'refused'}`, async () => {
        const delivery = await insertDelivery(database.pool, from)
        const writer = role ? database.as(role) : database.pool
        const outcome = await codeOf(
          writer.query('UPDATE sagapost.webhook_delivery_sagas SET status = $2 WHERE id = $1', [
            delivery.id,
            to,
          ]),
        )
        const refusal = isFinal(deliveryMachine, from) ? 'row_is_final' : 'illegal_move'
        expect(outcome).toBe(legal ? 'accepted' : refusal)
        expect(await statusOf('webhook_delivery_sagas', delivery.id)).toBe(legal ? to : from)
      })
    }
  }
})

describe.each(['part', 'owner'] as const)('every pair of job statuses, as the %s', (who) => {
  const role = writers.job[who]
  for (const from of jobMachine.statuses) {
    for (const to of jobMachine.statuses) {
      const legal = isLegalMove(jobMachine, from, to)
      it(`[J12] ${from} → ${to} is ${legal ? 'made' : 'refused'}`, async () => {
        const job = await insertJob(database.pool, await insertDelivery(database.pool, 'InProgress'), from)
        const writer = role ? database.as(role) : database.pool
        const outcome = await codeOf(
          writer.query('UPDATE sagapost.webhook_delivery_jobs SET status = $2 WHERE id = $1', [job, to]),
        )
        const refusal = isFinal(jobMachine, from) ? 'row_is_final' : 'illegal_move'
        expect(outcome).toBe(legal ? 'accepted' : refusal)
        expect(await statusOf('webhook_delivery_jobs', job)).toBe(legal ? to : from)
      })
    }
  }
})

describe('attempt_count', () => {
  const setCount = (id: string, status: string, by: number) =>
    database
      .as('saga_orchestrator')
      .query(
        `UPDATE sagapost.webhook_delivery_sagas SET status = $2, attempt_count = attempt_count + $3 WHERE id = $1`,
        [id, status, by],
      )

  it('[S13] increases by one when a result is applied, and never by more or back', async () => {
    for (const [by, expected] of [
      [2, 'illegal_move'],
      [1, 'accepted'],
    ] as const) {
      const delivery = await insertDelivery(database.pool, 'InProgress')
      expect(await codeOf(setCount(delivery.id, 'PendingRetry', by))).toBe(expected)
    }
    const tried = await insertDelivery(database.pool, 'PendingRetry')
    expect(await codeOf(setCount(tried.id, 'InProgress', 0))).toBe('accepted')
    expect(await codeOf(setCount(tried.id, 'PendingRetry', -1))).toBe('illegal_move')
  })

  it('[S13] does not change with the end', async () => {
    const delivery = await insertDelivery(database.pool, 'PendingRetry')
    expect(await codeOf(setCount(delivery.id, 'DeadLettered', 1))).toBe('illegal_move')
  })

  it('[S13] does not change when a job is made', async () => {
    for (const from of ['Pending', 'PendingRetry'] as const) {
      const delivery = await insertDelivery(database.pool, from)
      expect(await codeOf(setCount(delivery.id, 'InProgress', 1))).toBe('illegal_move')
    }
  })
})

it('[S10] a delivery that waits for its retry is not taken up before it is due', async () => {
  const delivery = await insertDelivery(database.pool, 'InProgress')
  const set = (assignments: string) =>
    database.pool.query(`UPDATE sagapost.webhook_delivery_sagas SET ${assignments} WHERE id = $1`, [
      delivery.id,
    ])
  await set(
    `status = 'PendingRetry', attempt_count = 1, next_attempt_at = sagapost.now() + interval '1 minute'`,
  )
  expect(await codeOf(set(`status = 'InProgress'`))).toBe('illegal_move')
  expect(await codeOf(set(`status = 'InProgress', next_attempt_at = sagapost.now()`))).toBe('illegal_move')
})

async function statusOf(table: string, id: string): Promise<string> {
  const { rows } = await database.pool.query(`SELECT status FROM sagapost.${table} WHERE id = $1`, [id])
  return rows[0].status
}
