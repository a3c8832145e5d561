import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import {
  insertDelivery,
  insertDeliveryWithoutEvent,
  insertEvent,
  insertJob,
  insertSubscription,
} from '../support/fixtures.js'
import { codeOf, outcomeOf } from '../support/refusal.js'

const database = useDatabase()
const growing = ['events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters']

interface Column {
  name: string
  type: string
}

async function columnsOf(table: string): Promise<Column[]> {
  const { rows } = await database.pool.query<Column>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = ('sagapost.' || $1)::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [table],
  )
  return rows
}

/** A value of the column's type that no fixture has. */
const other: Record<string, string> = {
  bigint: `999999`,
  integer: `177`,
  'timestamp with time zone': `timestamptz '2001-02-03 04:05:06Z'`,
  uuid: `uuid '00000000-0000-4000-8000-000000000000'`,
  json: `json '{"other": true}'`,
}
const otherValue = ({ type }: Column): string => other[type] ?? `'Pending'`

/** The partition that holds the row, for statements that go around the parent. */
async function partitionOf(table: string, id: string): Promise<string> {
  const { rows } = await database.pool.query(
    `SELECT tableoid::regclass::text AS name FROM sagapost.${table} WHERE id = $1`,
    [id],
  )
  return rows[0].name
}

describe('a final row is frozen in every column, for the owner, through the parent and in the partition', () => {
  it.each(['Completed', 'DeadLettered'] as const)('[S11] a %s delivery', async (status) => {
    const { id } = await insertDelivery(database.pool, status)
    const columns = await columnsOf('webhook_delivery_sagas')
    expect(columns.map(({ name }) => name)).toContain('updated_at')
    for (const target of [
      'sagapost.webhook_delivery_sagas',
      await partitionOf('webhook_delivery_sagas', id),
    ]) {
      for (const column of columns) {
        const update = `UPDATE ${target} SET ${column.name} = ${otherValue(column)} WHERE id = $1`
        expect([column.name, await codeOf(database.pool.query(update, [id]))]).toEqual([
          column.name,
          'row_is_final',
        ])
      }
      const same = `UPDATE ${target} SET updated_at = updated_at WHERE id = $1`
      expect(await codeOf(database.pool.query(same, [id]))).toBe('row_is_final')
    }
  })

  it.each(['Completed', 'Failed'] as const)('[J12, S4] a %s job', async (status) => {
    const id = await insertJob(database.pool, await insertDelivery(database.pool, 'InProgress'), status)
    for (const target of ['sagapost.webhook_delivery_jobs', await partitionOf('webhook_delivery_jobs', id)]) {
      for (const column of await columnsOf('webhook_delivery_jobs')) {
        const update = `UPDATE ${target} SET ${column.name} = ${otherValue(column)} WHERE id = $1`
        expect([column.name, await codeOf(database.pool.query(update, [id]))]).toEqual([
          column.name,
          expect.stringMatching(/^(row_is_final|identity_is_frozen)$/),
        ])
      }
      const same = `UPDATE ${target} SET finished_at = finished_at WHERE id = $1`
      expect(await codeOf(database.pool.query(same, [id]))).toBe('row_is_final')
    }
  })
})

describe('what a row in flight is for never changes', () => {
  it.each(['id', 'event_id', 'subscription_id', 'requeued_from', 'created_at', 'correlation_id'])(
    '[S5] %s of a delivery, along with a legal move',
    async (name) => {
      const { id } = await insertDelivery(database.pool, 'Pending')
      const column = (await columnsOf('webhook_delivery_sagas')).find((each) => each.name === name)
      if (!column) throw new Error(name)
      const update = `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress', ${name} = ${otherValue(column)} WHERE id = $1`
      expect(await codeOf(database.pool.query(update, [id]))).toBe('identity_is_frozen')
    },
  )

  it.each(['id', 'saga_id', 'event_id', 'subscription_id', 'attempt_at', 'attempt', 'correlation_id'])(
    '[J3] %s of a job, along with a legal move',
    async (name) => {
      const id = await insertJob(database.pool, await insertDelivery(database.pool, 'InProgress'))
      const column = (await columnsOf('webhook_delivery_jobs')).find((each) => each.name === name)
      if (!column) throw new Error(name)
      const update = `UPDATE sagapost.webhook_delivery_jobs SET status = 'Leased', ${name} = ${otherValue(column)} WHERE id = $1`
      expect(await codeOf(database.pool.query(update, [id]))).toBe('identity_is_frozen')
    },
  )
})

describe('a job that goes back', () => {
  it.each([
    ['an answer', 'response_status = 500', 'illegal_move'],
    ['an error', `error_code = 'timeout'`, 'illegal_move'],
    ['a time to wait', 'retry_after_s = 5', 'illegal_move'],
    ['a duration', 'duration_ms = 0', 'illegal_move'],
    ['an excerpt', `response_excerpt = ''`, 'illegal_move'],
    ['an end', 'finished_at = sagapost.now()', 'illegal_move'],
    ['a lost lease less', 'lease_resets = 0', 'illegal_move'],
    ['two lost leases more', 'lease_resets = 3', 'illegal_move'],
    ['another lost lease', 'lease_resets = 2', 'accepted'],
    ['nothing', 'lease_until = sagapost.now()', 'accepted'],
  ])('[J3, J12] has not been sent: with %s (%s) it is %s', async (_what, change, expected) => {
    const id = await insertJob(database.pool, await insertDelivery(database.pool, 'InProgress'))
    const jobs = 'UPDATE sagapost.webhook_delivery_jobs SET'
    await database.pool.query(`${jobs} status = 'Leased' WHERE id = $1`, [id])
    await database.pool.query(`${jobs} status = 'Pending', lease_resets = 1 WHERE id = $1`, [id])
    await database.pool.query(`${jobs} status = 'Leased' WHERE id = $1`, [id])
    const back = database.as('job_worker').query(`${jobs} status = 'Pending', ${change} WHERE id = $1`, [id])
    expect(await codeOf(back)).toBe(expected)
  })
})

describe('the initial state', () => {
  const insert = (columns: string, values: string) =>
    codeOf(
      database.pool.query(
        `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, ${columns}) VALUES (1, 2, ${values})`,
      ),
    )

  it('[S5] of a delivery is Pending with 0 attempts and no error, for every role', async () => {
    for (const status of ['InProgress', 'PendingRetry', 'Completed', 'DeadLettered']) {
      expect(await insert('status', `'${status}'`)).toBe('illegal_initial_state')
    }
    expect(await insert('attempt_count', '1')).toBe('illegal_initial_state')
    expect(await insert('final_error_code', `'http_500'`)).toBe('illegal_initial_state')
    expect(await insert('status', `'Pending'`)).toBe('accepted')
  })

  it.each(['Leased', 'Completed', 'Failed'])('[J12] of a job is not %s', async (status) => {
    const { id, eventId, subscriptionId } = await insertDelivery(database.pool, 'InProgress')
    const insertJobAs = `INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, status) VALUES ($1, $2, $3, $4)`
    expect(await codeOf(database.pool.query(insertJobAs, [id, eventId, subscriptionId, status]))).toBe(
      'illegal_initial_state',
    )
  })
})

describe('unique keys', () => {
  it('[S3] one routed delivery for an event and a subscription', async () => {
    const { eventId, subscriptionId } = await insertDelivery(database.pool)
    const again = database.pool.query(
      'INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) VALUES ($1, $2)',
      [eventId, subscriptionId],
    )
    const outcome = await outcomeOf(again)
    expect(outcome).toMatchObject({ code: 'delivery_exists', sqlState: '23505' })
    expect(outcome).toMatchObject({
      constraint: expect.stringMatching(/^uniq_saga_event_subscription_from_\d+$/),
    })
  })

  it.each(['Pending', 'Leased'] as const)(
    '[S9] no second job while one is %s, and another one after it',
    async (status) => {
      const delivery = await insertDelivery(database.pool, 'InProgress')
      const job = await insertJob(database.pool, delivery, status)
      expect(await codeOf(insertJob(database.pool, delivery))).toBe('active_job_exists')
      if (status === 'Pending') await setJob(job, 'Leased')
      await setJob(job, 'Failed')
      await setDelivery(
        delivery.id,
        `status = 'PendingRetry', attempt_count = 1, final_error_code = 'http_500'`,
      )
      await setDelivery(delivery.id, `status = 'InProgress'`)
      expect(await codeOf(insertJob(database.pool, delivery))).toBe('accepted')
    },
  )

  it('[J2] one job for a delivery at one time', async () => {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    const job = await insertJob(database.pool, delivery, 'Failed')
    const again = database.pool.query(
      `INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, attempt_at)
       SELECT saga_id, event_id, subscription_id, attempt_at FROM sagapost.webhook_delivery_jobs WHERE id = $1`,
      [job],
    )
    expect(await outcomeOf(again)).toMatchObject({
      constraint: expect.stringMatching(/^uniq_job_saga_attempt_from_\d+$/),
    })
  })

  const setDelivery = (id: string, change: string) =>
    database.pool.query(`UPDATE sagapost.webhook_delivery_sagas SET ${change} WHERE id = $1`, [id])

  const setJob = (id: string, status: string) =>
    database.pool.query('UPDATE sagapost.webhook_delivery_jobs SET status = $2 WHERE id = $1', [id, status])
})

describe('rows that are never deleted or changed', () => {
  async function fill(): Promise<Record<string, string>> {
    const delivery = await insertDelivery(database.pool, 'InProgress')
    const job = await insertJob(database.pool, delivery, 'Failed')
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'PendingRetry', attempt_count = 1 WHERE id = $1`,
      [delivery.id],
    )
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_sagas SET status = 'DeadLettered' WHERE id = $1`,
      [delivery.id],
    )
    const { rows } = await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [
      delivery.id,
    ])
    return {
      events: delivery.eventId,
      webhook_delivery_sagas: delivery.id,
      webhook_delivery_jobs: job,
      dead_letters: rows[0].id,
    }
  }

  it.each(growing)(
    '[E2, S11, D2] DELETE and TRUNCATE of %s, also in the partition and under replication',
    async (table) => {
      const id = (await fill())[table] ?? ''
      for (const target of [`sagapost.${table}`, await partitionOf(table, id)]) {
        for (const mode of ['origin', 'replica']) {
          await withSession(mode, async (client) => {
            expect(await codeOf(client.query(`DELETE FROM ${target} WHERE id = $1`, [id]))).toBe(
              'append_only',
            )
            expect(await codeOf(client.query(`TRUNCATE ${target}`))).toBe('append_only')
            expect(await codeOf(client.query(`TRUNCATE ${target} CASCADE`))).toBe('append_only')
          })
        }
      }
    },
  )

  it.each(['events', 'dead_letters'])('[E2, D2] UPDATE of every column of %s', async (table) => {
    const id = (await fill())[table] ?? ''
    for (const target of [`sagapost.${table}`, await partitionOf(table, id)]) {
      for (const mode of ['origin', 'replica']) {
        await withSession(mode, async (client) => {
          for (const column of await columnsOf(table)) {
            const update = `UPDATE ${target} SET ${column.name} = ${otherValue(column)} WHERE id = $1`
            expect([column.name, await codeOf(client.query(update, [id]))]).toEqual([
              column.name,
              'append_only',
            ])
          }
        })
      }
    }
  })

  it('[S5, J12] session_replication_role switches no guard off, on no table and no partition', async () => {
    const { rows } = await database.pool.query(
      `SELECT tgrelid::regclass || '.' || tgname AS trigger FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
       WHERE relnamespace = 'sagapost'::regnamespace AND NOT tgisinternal AND tgenabled <> 'A'
         AND tgname <> 'trigger_saga_updated_at' -- keeps a time, guards nothing`,
    )
    expect(rows).toEqual([])
  })

  /** Guards of a partitioned table that one of its partitions lacks, or has switched off. */
  async function gaps(): Promise<string[]> {
    const { rows } = await database.pool.query<{ gap: string }>(
      `SELECT parent.oid::regclass || ': ' || guard.tgname || ' missing on ' || inhrelid::regclass AS gap
       FROM pg_class AS parent
       JOIN pg_trigger AS guard ON guard.tgrelid = parent.oid AND NOT guard.tgisinternal
       JOIN pg_inherits ON inhparent = parent.oid
       WHERE parent.relnamespace = 'sagapost'::regnamespace AND parent.relkind = 'p'
         AND NOT EXISTS (SELECT FROM pg_trigger AS own WHERE own.tgrelid = inhrelid AND own.tgname = guard.tgname
                         AND own.tgenabled = 'A' AND own.tgtype = guard.tgtype)`,
    )
    return rows.map(({ gap }) => gap)
  }

  it('[E2] every partition has the guards of its table', async () => {
    expect(await gaps()).toEqual([])
  })

  it('[E2, R1] a partition that is made later has the guards of its table, too', async () => {
    for (const table of growing) {
      await database.pool.query('SELECT sagapost.make_partition($1, 7000000, 8000000)', [table])
    }
    expect(await gaps()).toEqual([])
  })

  async function withSession(mode: string, work: (client: pg.PoolClient) => Promise<void>): Promise<void> {
    const client = await database.pool.connect()
    try {
      await client.query(`SET session_replication_role = ${mode}`)
      await work(client)
    } finally {
      client.release(true)
    }
  }
})

describe('dead letters', () => {
  it('[D2, D3, S8, J11] are written by the move itself, with the payload byte for byte and the last job', async () => {
    const payload = '{ "b":1,   "a": 1e100, "a": "\\u0000\\ud800" }'
    const eventId = await insertEvent(database.pool, { payload })
    const subscriptionId = await insertSubscription(database.pool)
    const { rows: sagas } = await database.pool.query(
      `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, correlation_id) VALUES ($1, $2, 'corr-1') RETURNING id`,
      [eventId, subscriptionId],
    )
    const delivery = { id: sagas[0].id, eventId, subscriptionId }
    const orchestrator = database.as('saga_orchestrator')
    const move = (assignments: string) =>
      orchestrator.query(`UPDATE sagapost.webhook_delivery_sagas SET ${assignments} WHERE id = $1`, [
        delivery.id,
      ])
    await move(`status = 'InProgress'`)
    await insertJob(database.pool, delivery, 'Failed')
    await move(`status = 'PendingRetry', attempt_count = 1, final_error_code = 'timeout'`)
    await move(`status = 'InProgress'`)
    const job = await insertJob(database.pool, delivery, 'Failed')
    await move(`status = 'PendingRetry', attempt_count = 2, final_error_code = 'http_500'`)
    await move(`status = 'DeadLettered'`)

    const { rows } = await database
      .as('dead_letter_operator')
      .query(
        `SELECT letter.*, payload_snapshot::text AS payload FROM sagapost.dead_letters AS letter WHERE saga_id = $1`,
        [delivery.id],
      )
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({
      event_id: eventId,
      subscription_id: subscriptionId,
      event_type: 'order.placed',
      final_error_code: 'http_500',
      attempt_count: 2,
      payload,
      job_id: job,
      worker_id: 'worker-1',
      lease_expiration: expect.any(Date),
      failed_at: expect.any(Date),
      correlation_id: 'corr-1',
    })
  })

  it('[D3] go with the transaction that makes the move', async () => {
    const { id } = await insertDelivery(database.pool, 'PendingRetry')
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(`UPDATE sagapost.webhook_delivery_sagas SET status = 'DeadLettered' WHERE id = $1`, [
        id,
      ])
      await client.query('ROLLBACK')
    } finally {
      client.release()
    }
    const { rows } = await database.pool.query('SELECT FROM sagapost.dead_letters WHERE saga_id = $1', [id])
    expect(rows).toHaveLength(0)
  })

  it('[D3] a delivery whose event is missing cannot be dead-lettered', async () => {
    const id = await insertDeliveryWithoutEvent(database.pool, '999999')
    const move = (status: string) =>
      database.pool.query('UPDATE sagapost.webhook_delivery_sagas SET status = $2 WHERE id = $1', [
        id,
        status,
      ])
    await move('InProgress')
    await move('PendingRetry')
    expect(await codeOf(move('DeadLettered'))).toBe('dead_letter_inconsistent')
  })

  it('[D3] are refused for another subscription than the delivery has', async () => {
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    const insert = database.pool.query(
      `INSERT INTO sagapost.dead_letters (saga_id, event_id, subscription_id, event_type, payload_snapshot, attempt_count)
       VALUES ($1, $2, 424242, 'order.placed', '{}', 1)`,
      [dead.id, dead.eventId],
    )
    expect(await outcomeOf(insert)).toMatchObject({ constraint: 'dead_letter_has_dead_saga' })
  })

  it('[D3] are refused for a delivery that is not dead, and a second time for one that is', async () => {
    const insert = ({
      id,
      eventId,
      subscriptionId,
    }: {
      id: string
      eventId: string
      subscriptionId: string
    }) =>
      codeOf(
        database.pool.query(
          `INSERT INTO sagapost.dead_letters (saga_id, event_id, subscription_id, event_type, payload_snapshot, attempt_count)
           VALUES ($1, $2, $3, 'order.placed', '{}', 1)`,
          [id, eventId, subscriptionId],
        ),
      )
    for (const status of ['Pending', 'InProgress', 'PendingRetry', 'Completed', 'DeadLettered'] as const) {
      expect(await insert(await insertDelivery(database.pool, status))).toBe('dead_letter_inconsistent')
    }
  })
})
