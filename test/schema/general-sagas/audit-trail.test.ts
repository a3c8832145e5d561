import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { outcomeOf } from '../../support/refusal.js'
import { countRows, inRolledBackTransaction, insertSaga, insertSagaEvent } from './fixtures.js'

const database = useDatabase()

const refused = { sqlState: 'SP005', constraint: 'saga_events_append_only' }

/** As the owner, who is a superuser: with triggers as usual, and as replication would switch them off. */
describe.each(['origin', 'replica'])('with session_replication_role = %s', (role) => {
  async function asOwner<T>(work: (client: pg.PoolClient, saga: string) => Promise<T>): Promise<T> {
    return inRolledBackTransaction(database.pool, async (client) => {
      const saga = await insertSaga(client)
      await insertSagaEvent(client, saga)
      await client.query(`SET LOCAL session_replication_role = ${role}`)
      return work(client, saga)
    })
  }

  it.each([
    ['UPDATE', `UPDATE sagapost.saga_events SET event_type = 'saga.failed'`],
    ['an UPDATE that changes nothing', 'UPDATE sagapost.saga_events SET id = id'],
    ['DELETE', 'DELETE FROM sagapost.saga_events'],
    ['TRUNCATE', 'TRUNCATE sagapost.saga_events'],
    ['TRUNCATE of the sagas', 'TRUNCATE sagapost.saga_instances CASCADE'],
    [
      'ON CONFLICT DO UPDATE',
      `INSERT INTO sagapost.saga_events (id, saga_id, event_type)
       SELECT id, saga_id, event_type FROM sagapost.saga_events
       ON CONFLICT (id) DO UPDATE SET event_type = 'saga.failed'`,
    ],
    [
      'MERGE',
      `MERGE INTO sagapost.saga_events AS kept USING (SELECT 1) AS one ON true
       WHEN MATCHED THEN DELETE`,
    ],
  ])('[G3] refuses %s on saga_events', async (_, statement) => {
    expect(await asOwner((client) => outcomeOf(client.query(statement)))).toMatchObject(refused)
  })

  it('[G3] reports what was refused, and on which table', async () => {
    const refusal = await asOwner((client) =>
      client.query('DELETE FROM sagapost.saga_events').catch((error: pg.DatabaseError) => error),
    )
    expect(refusal).toMatchObject({
      message: 'saga events are append-only: DELETE is refused',
      schema: 'sagapost',
      table: 'saga_events',
    })
  })
})

it('[G3] removes the events of a saga when the saga is deleted', async () => {
  const saga = await insertSaga(database.pool)
  await insertSagaEvent(database.pool, saga)
  await database.pool.query('DELETE FROM sagapost.saga_instances WHERE id = $1', [saga])
  expect(await countRows(database.pool, 'saga_events', saga)).toBe(0)
})

it('[G3] [G12] removes them for saga_app_role too, which may not delete events itself', async () => {
  const app = database.as('saga_app_role')
  const saga = await insertSaga(app)
  await insertSagaEvent(app, saga)
  expect(await outcomeOf(app.query('DELETE FROM sagapost.saga_events'))).toMatchObject({ sqlState: '42501' })
  expect(await outcomeOf(app.query('DELETE FROM sagapost.saga_instances WHERE id = $1', [saga]))).toBe(
    'accepted',
  )
  expect(await countRows(database.pool, 'saga_events', saga)).toBe(0)
})

it('[G3] refuses a DELETE that another trigger makes while the saga is there', async () => {
  const outcome = await inRolledBackTransaction(database.pool, async (client) => {
    const saga = await insertSaga(client)
    await insertSagaEvent(client, saga)
    await client.query(`
      CREATE FUNCTION pg_temp.forget() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN DELETE FROM sagapost.saga_events WHERE saga_id = NEW.id; RETURN NULL; END $$;
      CREATE TRIGGER forget AFTER UPDATE ON sagapost.saga_instances
        FOR EACH ROW EXECUTE FUNCTION pg_temp.forget()`)
    return outcomeOf(client.query('UPDATE sagapost.saga_instances SET state = 1 WHERE id = $1', [saga]))
  })
  expect(outcome).toMatchObject(refused)
})

it('[G3] lets a replicated cascade through, which deletes the events after their saga', async () => {
  const left = await inRolledBackTransaction(database.pool, async (client) => {
    const saga = await insertSaga(client)
    await insertSagaEvent(client, saga)
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query('DELETE FROM sagapost.saga_instances WHERE id = $1', [saga])
    await client.query('DELETE FROM sagapost.saga_events WHERE saga_id = $1', [saga])
    return countRows(client, 'saga_events', saga)
  })
  expect(left).toBe(0)
})

it('[G3] is not misled by a search_path', async () => {
  const outcome = await inRolledBackTransaction(database.pool, async (client) => {
    const saga = await insertSaga(client)
    await insertSagaEvent(client, saga)
    await client.query(`
      CREATE SCHEMA misleading;
      CREATE FUNCTION misleading.never(varchar, varchar) RETURNS boolean LANGUAGE sql RETURN false;
      CREATE OPERATOR misleading.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = misleading.never);
      SET LOCAL search_path = misleading, pg_catalog`)
    return outcomeOf(client.query('DELETE FROM sagapost.saga_events'))
  })
  expect(outcome).toMatchObject(refused)
})
