import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { type Delivery, insertDelivery, insertJob } from '../support/fixtures.js'
import { codeOf, outcomeOf } from '../support/refusal.js'

const database = useDatabase()

const insertJobs = `
  INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id)
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])`

const valuesOf = (deliveries: readonly Delivery[]) => [
  deliveries.map(({ id }) => id),
  deliveries.map(({ eventId }) => eventId),
  deliveries.map(({ subscriptionId }) => subscriptionId),
]

type Writer = ReturnType<typeof database.as>

/** As the orchestrator's role, and as the owner of the tables. */
const writers = (): Writer[] => [database.as('saga_orchestrator'), database.pool]

describe('a job', () => {
  it.each(['Pending', 'PendingRetry', 'Completed', 'DeadLettered'] as const)(
    '[S16, S19] is refused for a delivery that is %s, for every role',
    async (status) => {
      const delivery = await insertDelivery(database.pool, status)
      for (const writer of writers()) {
        expect(await outcomeOf(insertJob(writer, delivery))).toMatchObject({
          code: 'job_without_delivery',
          constraint: 'job_fits_delivery',
          sqlState: 'SP011',
        })
      }
    },
  )

  it('[S16, S9, J3] is refused under the id of another event or subscription, or of no delivery', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    const other = await insertDelivery(database.pool, 'InProgress')
    for (const wrong of [
      { eventId: other.eventId },
      { subscriptionId: other.subscriptionId },
      { id: '999999' },
    ]) {
      for (const writer of writers()) {
        expect(await codeOf(insertJob(writer, { ...delivery, ...wrong }))).toBe('job_without_delivery')
      }
    }
    expect(await codeOf(insertJob(database.pool, delivery))).toBe('accepted')
  })

  it('[S16] refuses a whole statement for one that does not fit', async () => {
    const fitting = await insertDelivery(database.pool, 'InProgress')
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    const values = valuesOf([fitting, dead])
    expect(await codeOf(database.pool.query(insertJobs, values))).toBe('job_without_delivery')
    expect(await codeOf(database.pool.query(insertJobs, valuesOf([fitting])))).toBe('accepted')
  })

  it.each([
    { what: 'in the statement that ends its delivery', to: 'Completed', event: 0, subscription: 0 },
    {
      what: 'under another event, in the statement that moves its delivery',
      to: 'InProgress',
      event: 1,
      subscription: 0,
    },
    {
      what: 'to another subscription, in the statement that moves its delivery',
      to: 'InProgress',
      event: 0,
      subscription: 1,
    },
  ] as const)('[S16, J3] is refused $what', async ({ to, event, subscription }) => {
    const delivery = await insertDelivery(database.pool, to === 'Completed' ? 'InProgress' : 'Pending')
    const moveAndMake = (values: unknown[]) =>
      codeOf(
        database.as('saga_orchestrator').query(
          `WITH moved AS (
             UPDATE sagapost.webhook_delivery_sagas SET status = $2::sagapost.delivery_status WHERE id = $1
             RETURNING id, event_id, subscription_id
           )
           INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id)
           SELECT id, event_id + $3, subscription_id + $4 FROM moved`,
          values,
        ),
      )
    expect(await moveAndMake([delivery.id, to, event, subscription])).toBe('job_without_delivery')
    if (to === 'InProgress') expect(await moveAndMake([delivery.id, to, 0, 0])).toBe('accepted')
  })

  it('[S16] is refused straight into a partition, one that is made later included', async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      `SELECT partition_name AS name FROM sagapost.partitions
       WHERE table_name = 'webhook_delivery_jobs' ORDER BY from_id`,
    )
    const into = (name: string | undefined, delivery: Delivery) =>
      codeOf(
        database.pool.query(insertJobs.replace('webhook_delivery_jobs', String(name)), valuesOf([delivery])),
      )
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    expect(await into(rows[0]?.name, dead)).toBe('job_without_delivery')
    expect(await into(rows[0]?.name, await insertDelivery(database.pool, 'InProgress'))).toBe('accepted')

    await database.pool.query(`SELECT sagapost.make_partition('webhook_delivery_jobs', 900000000, 901000000)`)
    const nowhere = { ...dead, eventId: '900000001' }
    expect(await into('webhook_delivery_jobs_from_900000000', nowhere)).toBe('job_without_delivery')
  })

  it('[S19] waits for another transaction that ends the delivery, and is then refused', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    const ending = await database.pool.connect()
    const making = await database.pool.connect()
    try {
      await ending.query('BEGIN')
      await ending.query(
        `UPDATE sagapost.webhook_delivery_sagas SET status = 'Completed', attempt_count = 1 WHERE id = $1`,
        [delivery.id],
      )
      const { rows } = await making.query('SELECT pg_backend_pid() AS pid')
      const made = codeOf(insertJob(making, delivery))
      await expect.poll(() => isWaiting(rows[0].pid)).toBe(true)
      await ending.query('COMMIT')
      expect(await made).toBe('job_without_delivery')
    } finally {
      ending.release()
      making.release()
    }
  })

  it('[S16] is refused for a delivery that has one whose result is not applied', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    await insertJob(database.pool, delivery, 'Failed')
    const again = insertJobs.replace(')', ', attempt)').replace('SELECT *', 'SELECT *, 2')
    for (const writer of writers()) {
      expect(await codeOf(writer.query(insertJobs, valuesOf([delivery])))).toBe('job_without_delivery')
      expect(await codeOf(writer.query(again, valuesOf([delivery])))).toBe('job_without_delivery')
    }
  })

  it('[S4, S9, S16] is refused for another attempt than the next one', async () => {
    const insert = insertJobs.replace(')', ', attempt)').replace('SELECT *', 'SELECT *, $4::int')
    const moveAndMake = `WITH moved AS (
      UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = ANY ($1)) ${insert}`
    for (const [attempt, code] of [
      [1, 'job_without_delivery'],
      [3, 'job_without_delivery'],
      [2, 'accepted'],
    ] as const) {
      const delivery = await insertDelivery(database.pool, 'PendingRetry')
      const values = [...valuesOf([delivery]), attempt]
      expect(await codeOf(database.as('saga_orchestrator').query(moveAndMake, values))).toBe(code)
      const moved = await insertDelivery(database.pool, 'PendingRetry')
      await database.pool.query(
        `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = $1`,
        [moved.id],
      )
      expect(await codeOf(database.pool.query(insert, [...valuesOf([moved]), attempt]))).toBe(code)
    }
  })

  const isWaiting = async (pid: number) => {
    const { rows } = await database.pool.query('SELECT cardinality(pg_blocking_pids($1)) > 0 AS waiting', [
      pid,
    ])
    return rows[0].waiting
  }
})

describe('a delivery', () => {
  it.each(['Pending', 'Leased'] as const)(
    '[S19] is not dead-lettered while a job of it is %s',
    async (status) => {
      const delivery = await insertDelivery(database.pool, 'InProgress')
      await insertJob(database.pool, delivery, status)
      const move = (writer: Writer, change: string) =>
        outcomeOf(
          writer.query(`UPDATE sagapost.webhook_delivery_sagas SET ${change} WHERE id = $1`, [delivery.id]),
        )
      expect(
        await move(
          database.as('saga_orchestrator'),
          `status = 'PendingRetry', attempt_count = 1, final_error_code = 'http_500'`,
        ),
      ).toBe('accepted')
      for (const writer of writers()) {
        expect(await move(writer, `status = 'DeadLettered'`)).toMatchObject({
          code: 'dead_letter_inconsistent',
          constraint: 'saga_writes_dead_letter',
        })
      }
    },
  )
})
