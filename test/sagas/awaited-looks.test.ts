import { beforeAll, expect, it } from 'vitest'
import { allowAnyBeginning, insertSaga, insertStep } from '../schema/general-sagas/fixtures.js'
import { useDatabase } from '../support/database.js'
import { insertEvent } from '../support/fixtures.js'

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

it('[O7] a step that begins to wait again while somebody looks is looked at again', async () => {
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

it('an event that nobody waits for any more is not looked at again', async () => {
  const id = await insertFailedStep()
  await database.pool.query('SELECT sagapost.note_deliveries(10)')
  expect(await lookOf(id)).toBe(false)
})
