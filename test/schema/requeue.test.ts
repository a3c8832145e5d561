import { describe, expect, it } from 'vitest'
import { requeueDeadLetters } from '../../src/built-in-sagas/index.js'
import { requeueBatch } from '../../src/built-in-sagas/requeue-batch.js'
import { useDatabase } from '../support/database.js'
import { type Delivery, insertDelivery } from '../support/fixtures.js'
import { countLockWaiters } from '../support/lock-waiters.js'
import { codeOf, outcomeOf } from '../support/refusal.js'

const database = useDatabase()

async function deadLetterOf(delivery: Delivery): Promise<string> {
  const { rows } = await database.pool.query('SELECT id FROM sagapost.dead_letters WHERE saga_id = $1', [
    delivery.id,
  ])
  return rows[0].id
}

async function requeue(deadLetterId: string): Promise<{ delivery_id: string; created: boolean }> {
  const { rows } = await database
    .as('dead_letter_operator')
    .query('SELECT * FROM sagapost.requeue_dead_letter($1)', [deadLetterId])
  return rows[0]
}

async function wholeRow(table: string, id: string) {
  const { rows } = await database.pool.query(`SELECT * FROM sagapost.${table} WHERE id = $1`, [id])
  return rows[0]
}

const lockWaiters = () => countLockWaiters(database.pool)

describe('requeue_dead_letter', () => {
  it('[D4, S19] makes a new Pending delivery that is due now, and no job, and leaves the dead one unchanged', async () => {
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    const before = await wholeRow('webhook_delivery_sagas', dead.id)
    const letter = await deadLetterOf(dead)
    const { delivery_id, created } = await requeue(letter)
    expect(created).toBe(true)
    const made = await wholeRow('webhook_delivery_sagas', delivery_id)
    expect(made).toMatchObject({
      event_id: dead.eventId,
      subscription_id: dead.subscriptionId,
      status: 'Pending',
      attempt_count: 0,
      final_error_code: null,
      requeued_from: letter,
    })
    expect(made.next_attempt_at).toEqual(made.created_at)
    expect(await wholeRow('webhook_delivery_sagas', dead.id)).toEqual(before)
    const jobs = await database.pool.query('SELECT FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1', [
      delivery_id,
    ])
    expect(jobs.rows).toHaveLength(0)
  })

  it('[D4] answers a second request with the delivery of the first, also after the deactivation', async () => {
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    const letter = await deadLetterOf(dead)
    const first = await requeue(letter)
    await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE id = $1', [
      dead.subscriptionId,
    ])
    expect(await requeue(letter)).toEqual({ delivery_id: first.delivery_id, created: false })
  })

  it('[D4, O7] two concurrent requests make one delivery', async () => {
    const letter = await deadLetterOf(await insertDelivery(database.pool, 'DeadLettered'))
    const answers = await Promise.all(Array.from({ length: 8 }, () => requeue(letter)))
    expect(new Set(answers.map(({ delivery_id }) => delivery_id)).size).toBe(1)
    expect(answers.filter(({ created }) => created)).toHaveLength(1)
  })

  it('[D4, O7] a request that another overtakes between its lookup and its insert answers with the delivery of the other', async () => {
    // Entries are made index by index, oldest index first: a function of the oldest one holds a session at its gate.
    const keys = ['uniq_saga_requeued_from', 'uniq_saga_event_subscription']
    const { rows } = await database.pool.query(
      `SELECT pg_get_indexdef(('sagapost.' || key)::regclass) AS definition FROM unnest($1::text[]) AS key`,
      [keys],
    )
    await database.pool.query(`
      CREATE FUNCTION sagapost.pass_gate(id bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
      BEGIN
        PERFORM pg_advisory_xact_lock_shared(current_setting('test.gate', true)::int);
        RETURN id;
      END $$;
      GRANT EXECUTE ON FUNCTION sagapost.pass_gate(bigint) TO PUBLIC;
      DROP INDEX sagapost.${keys.join(', sagapost.')};
      CREATE INDEX gate ON sagapost.webhook_delivery_sagas (sagapost.pass_gate(id));
      ${rows.map(({ definition }) => definition.replace('ON ONLY', 'ON')).join(';')}`)
    const letter = await deadLetterOf(await insertDelivery(database.pool, 'DeadLettered'))
    const [holder, first, second] = await Promise.all([1, 2, 3].map(() => database.pool.connect()))
    if (!holder || !first || !second) throw new Error('three connections are needed')
    try {
      await holder.query('SELECT pg_advisory_lock(1), pg_advisory_lock(2)')
      const requests = [first, second].map(async (client, index) => {
        await client.query(`SET test.gate = ${index + 1}`)
        return client.query('SELECT * FROM sagapost.requeue_dead_letter($1)', [letter])
      })
      const overtaken = codeOf(requests[1] as Promise<unknown>)
      await expect.poll(lockWaiters).toBe(2)
      await holder.query('SELECT pg_advisory_unlock(1)')
      const delivery = (await requests[0])?.rows[0]
      expect(delivery).toMatchObject({ created: true })
      await holder.query('SELECT pg_advisory_unlock(2)')
      expect(await overtaken).toBe('accepted')
      expect((await requests[1])?.rows).toEqual([{ delivery_id: delivery.delivery_id, created: false }])
    } finally {
      for (const client of [holder, first, second]) client.release(true)
      await database.pool.query('DROP INDEX sagapost.gate; DROP FUNCTION sagapost.pass_gate')
    }
  })

  it('[D4] a request that meets an uncommitted one waits for it and answers with its delivery', async () => {
    const letter = await deadLetterOf(await insertDelivery(database.pool, 'DeadLettered'))
    const first = await database.pool.connect()
    await first.query('BEGIN')
    const { rows } = await first.query('SELECT delivery_id FROM sagapost.requeue_dead_letter($1)', [letter])
    const second = requeue(letter)
    await expect.poll(lockWaiters).toBe(1)
    await first.query('COMMIT')
    first.release()
    expect(await second).toEqual({ delivery_id: rows[0].delivery_id, created: false })
  })

  it('[S19] the requeued delivery can die too, and its own dead letter be requeued', async () => {
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    const { delivery_id } = await requeue(await deadLetterOf(dead))
    for (const status of ['InProgress', 'PendingRetry', 'DeadLettered']) {
      await database.pool.query('UPDATE sagapost.webhook_delivery_sagas SET status = $2 WHERE id = $1', [
        delivery_id,
        status,
      ])
    }
    const second = await requeue(await deadLetterOf({ ...dead, id: delivery_id }))
    expect(second.created).toBe(true)
    expect(second.delivery_id).not.toBe(delivery_id)
  })

  it('[D4] is refused while the subscription is inactive, and nothing is made', async () => {
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    const letter = await deadLetterOf(dead)
    await database.pool.query('UPDATE sagapost.subscriptions SET active = false WHERE id = $1', [
      dead.subscriptionId,
    ])
    expect(await outcomeOf(requeue(letter))).toEqual({
      code: 'subscription_inactive',
      sqlState: 'SP009',
      constraint: 'requeue_needs_active_subscription',
    })
    const { rows } = await database.pool.query(
      'SELECT FROM sagapost.webhook_delivery_sagas WHERE requeued_from = $1',
      [letter],
    )
    expect(rows).toHaveLength(0)
  })

  it('[D4] waits for a deactivation that is under way, and is then refused', async () => {
    const dead = await insertDelivery(database.pool, 'DeadLettered')
    const admin = await database.pool.connect()
    try {
      await admin.query('BEGIN')
      await admin.query('UPDATE sagapost.subscriptions SET active = false WHERE id = $1', [
        dead.subscriptionId,
      ])
      const request = codeOf(requeue(await deadLetterOf(dead)))
      await expect.poll(lockWaiters).toBe(1)
      await admin.query('COMMIT')
      expect(await request).toBe('subscription_inactive')
    } finally {
      admin.release(true)
    }
  })

  it('[D4] of a dead letter that does not exist is refused', async () => {
    expect(await codeOf(requeue('987654321'))).toBe('dead_letter_not_found')
  })

  describe('while the sequence of deliveries is set back to an id that is taken', () => {
    const taken = {
      code: undefined,
      sqlState: '23505',
      constraint: 'webhook_delivery_sagas_pkey',
    }

    /** To the dead delivery, which has the id that the requeued one of the same event would get. */
    const setBack = ({ id }: Delivery) =>
      database.pool.query(`SELECT setval('sagapost.webhook_delivery_sagas_id_seq', $1, false)`, [id])

    it('[D4, S19] a requeue fails with a unique violation', async () => {
      const dead = await insertDelivery(database.pool, 'DeadLettered')
      const letter = await deadLetterOf(dead)
      await setBack(dead)
      expect(await outcomeOf(requeue(letter))).toEqual(taken)
    })

    it('[D4, S19] a batch fails with the same error, and counts no letter as refused', async () => {
      const dead = await insertDelivery(database.pool, 'DeadLettered')
      const letter = await deadLetterOf(dead)
      const { sagaId } = await requeueDeadLetters(database.as('dead_letter_operator'), {
        subscriptionId: dead.subscriptionId,
      })
      await database.pool.query(
        `UPDATE sagapost.saga_steps SET state = 1, attempts = 1 WHERE id = $1 || ':0'`,
        [sagaId],
      )
      await setBack(dead)
      const batch = () => requeueBatch(database.as('saga_app_role'), sagaId, 1)
      expect(await outcomeOf(batch())).toEqual(taken)
      // The next attempt takes the next id.
      expect(await batch()).toMatchObject({ requeued: 1, progress: { refused: 0, remaining: 0 } })
      expect(await requeue(letter)).toMatchObject({ created: false })
    })
  })

  it('[D5] no role makes a requeued delivery except through the function', async () => {
    const insert = `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from) VALUES (1, 1, 1)`
    for (const role of ['dead_letter_operator', 'router_worker', 'saga_orchestrator'] as const) {
      expect(await codeOf(database.as(role).query(insert))).toBe('permission_denied')
    }
  })
})
