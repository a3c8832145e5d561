import { beforeAll, describe, expect, it } from 'vitest'
import { requeueDeadLetters } from '../../../src/built-in-sagas/index.js'
import { requeueBatch } from '../../../src/built-in-sagas/requeue-batch.js'
import { allowAnyBeginning, insertSaga, insertStep } from '../../schema/general-sagas/fixtures.js'
import { useDatabase } from '../../support/database.js'
import { insertDeadLetters } from '../../support/dead-letters.js'
import { insertEvent, insertSubscription } from '../../support/fixtures.js'

const database = useDatabase()
const GATE = 42

/** A clock that stands still, where a session asks for it, until the gate is open: a statement is then between two of its own steps. */
const pausingClock = `
  CREATE OR REPLACE FUNCTION sagapost.now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
  BEGIN
    IF current_setting('test.pause', true) = 'on' THEN
      PERFORM pg_catalog.pg_advisory_xact_lock_shared(${GATE});
    END IF;
    RETURN pg_catalog.now();
  END $$`

beforeAll(async () => {
  await allowAnyBeginning(database.pool)
  await database.pool.query(pausingClock)
})

/** A step that has failed, and whose event is due to be looked at. */
async function insertFailedStep(): Promise<string> {
  const id = await insertSaga(database.pool, { state: 1, total_steps: 1 })
  const topic = `delivery:${id}:0`
  await insertStep(database.pool, id, {
    step_index: 0,
    state: 3,
    attempts: 1,
    max_attempts: 2,
    waits_for: topic,
  })
  const event = await insertEvent(database.pool)
  await database.pool.query(
    `INSERT INTO sagapost.saga_awaited_events (saga_id, step_index, event_id, stored_at, look_at)
     VALUES ($1, 0, $2, pg_catalog.now(), pg_catalog.now() - interval '1 s')`,
    [id, event],
  )
  return id
}

const lookOf = async (id: string) => {
  const { rows } = await database.pool.query(
    'SELECT look_at IS NOT NULL AS due FROM sagapost.saga_awaited_events WHERE saga_id = $1',
    [id],
  )
  return rows[0]?.due
}

it('[O7] a step that begins to wait again during a check is checked again', async () => {
  const [gate, looker, writer] = await Promise.all([1, 2, 3].map(() => database.pool.connect()))
  if (!gate || !looker || !writer) throw new Error('there is no connection')
  // The planner asks for the time as well: from here on it has its plan.
  await looker.query('SELECT sagapost.note_deliveries(10)')
  const id = await insertFailedStep()
  try {
    await gate.query('SELECT pg_advisory_lock($1)', [GATE])
    await writer.query('BEGIN')
    await looker.query(`SET test.pause = 'on'`)
    const looked = looker.query('SELECT sagapost.note_deliveries(10) AS looked')
    await expect
      .poll(async () => {
        const { rows } = await database.pool.query(
          `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted`,
          [GATE],
        )
        return rows.length
      })
      .toBe(1)
    await writer.query('UPDATE sagapost.saga_steps SET state = 1, attempts = 2 WHERE saga_id = $1', [id])
    await writer.query('SELECT sagapost.publish_awaited_events($1)', [
      JSON.stringify([{ saga_id: id, step_index: 0, type: 'told', payload: '1', span_id: '1'.repeat(16) }]),
    ])
    await writer.query('COMMIT')
    await gate.query('SELECT pg_advisory_unlock($1)', [GATE])
    expect((await looked).rows).toEqual([{ looked: 1 }])
  } finally {
    await gate.query('SELECT pg_advisory_unlock_all()')
    await looker.query('RESET test.pause')
    for (const client of [gate, looker, writer]) client.release()
  }
  expect(await lookOf(id)).toBe(true)
})

it('an event that no saga waits for any more is not checked again', async () => {
  const id = await insertFailedStep()
  await database.pool.query('SELECT sagapost.note_deliveries(10)')
  expect(await lookOf(id)).toBe(false)
})

describe('an event that is dead-lettered', () => {
  /** Steps that wait for an event each whose only delivery is dead. */
  async function insertWaiting(count: number) {
    const subscriptionId = await insertSubscription(database.pool)
    const letters = await insertDeadLetters(database.pool, { count, subscriptionId })
    const { rows } = await database.pool.query(
      'SELECT event_id FROM sagapost.dead_letters WHERE id = ANY ($1)',
      [letters],
    )
    const sagas: string[] = []
    for (const { event_id } of rows) {
      const id = await insertSaga(database.pool, { state: 1, total_steps: 1 })
      await insertStep(database.pool, id, { state: 1, attempts: 1, waits_for: `delivery:${id}:0` })
      await database.pool.query(
        `INSERT INTO sagapost.saga_awaited_events (saga_id, step_index, event_id, stored_at, look_at)
         VALUES ($1, 0, $2, pg_catalog.now(), pg_catalog.now())`,
        [id, event_id],
      )
      sagas.push(id)
    }
    return { subscriptionId, letters, sagas }
  }
  const dueOf = async (sagas: readonly string[]) => {
    const { rows } = await database.pool.query(
      `SELECT count(*) FILTER (WHERE look_at <= sagapost.now())::int AS due,
              count(*) FILTER (WHERE look_at > sagapost.now() + interval '59 minutes')::int AS later
       FROM sagapost.saga_awaited_events WHERE saga_id = ANY ($1)`,
      [sagas],
    )
    return rows[0]
  }
  const look = () => database.pool.query('SELECT sagapost.note_deliveries(100)')

  it('[S19, D4] is checked once an hour, and at once when it is requeued', async () => {
    const { letters, sagas } = await insertWaiting(3)
    await look()
    expect(await dueOf(sagas)).toEqual({ due: 0, later: 3 })
    await database.as('dead_letter_operator').query('SELECT sagapost.requeue_dead_letter($1)', [letters[1]])
    expect(await dueOf(sagas)).toEqual({ due: 1, later: 2 })
    await look()
    const { rows } = await database.pool.query(
      "SELECT told, look_at < sagapost.now() + interval '2 minutes' AS soon FROM sagapost.saga_awaited_events WHERE saga_id = $1",
      [sagas[1]],
    )
    expect(rows).toEqual([{ told: 'open 2 0', soon: true }])
  })

  it('[S19, D4] is checked at once when it is requeued by filter', async () => {
    const { subscriptionId, sagas } = await insertWaiting(3)
    await look()
    const { sagaId } = await requeueDeadLetters(database.as('dead_letter_operator'), { subscriptionId })
    await database.pool.query('UPDATE sagapost.saga_steps SET state = 1, attempts = 1 WHERE saga_id = $1', [
      sagaId,
    ])
    await requeueBatch(database.as('saga_app_role'), sagaId, 1)
    expect(await dueOf(sagas)).toEqual({ due: 3, later: 0 })
  })

  it('[O7] that is requeued during a check is checked again', async () => {
    const { letters, sagas } = await insertWaiting(1)
    const looker = await database.pool.connect()
    try {
      await looker.query('BEGIN')
      await looker.query('SELECT sagapost.note_deliveries(100)')
      const requeued = database
        .as('dead_letter_operator')
        .query('SELECT sagapost.requeue_dead_letter($1)', [letters[0]])
      await expect
        .poll(async () => {
          const { rows } = await database.pool.query(
            `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          )
          return rows.length
        })
        .toBe(1)
      await looker.query('COMMIT')
      await requeued
    } finally {
      looker.release()
    }
    expect(await dueOf(sagas)).toEqual({ due: 1, later: 0 })
  })
})
