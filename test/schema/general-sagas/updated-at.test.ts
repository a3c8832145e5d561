import { expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { inRolledBackTransaction, insertSaga } from './fixtures.js'

const database = useDatabase()

const LONG_AGO = '2001-02-03T04:05:06.000Z'

it('[G9] sets updated_at to the time of the transaction, whatever the update says', async () => {
  const rows = await inRolledBackTransaction(database.pool, async (client) => {
    const id = await insertSaga(client, { created_at: LONG_AGO, updated_at: LONG_AGO })
    const updated = await client.query(
      `UPDATE sagapost.saga_instances SET state = 1, updated_at = $2 WHERE id = $1
       RETURNING updated_at = sagapost.now() AS is_now, created_at`,
      [id, '2002-02-02T02:02:02Z'],
    )
    return updated.rows
  })
  expect(rows).toEqual([{ is_now: true, created_at: new Date(LONG_AGO) }])
})

it('[G9] touches only the rows of the update', async () => {
  const untouched = await insertSaga(database.pool, { updated_at: LONG_AGO })
  const touched = await insertSaga(database.pool, { updated_at: LONG_AGO })
  await database.pool.query('UPDATE sagapost.saga_instances SET state = 1 WHERE id = $1', [touched])
  const { rows } = await database.pool.query(
    'SELECT id FROM sagapost.saga_instances WHERE updated_at = $1 AND id = ANY ($2)',
    [LONG_AGO, [touched, untouched]],
  )
  expect(rows).toEqual([{ id: untouched }])
})

it('[G9] is the trigger trigger_saga_updated_at, which calls update_saga_updated_at()', async () => {
  const { rows } = await database.pool.query(
    `SELECT tgname, proname AS function FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
     WHERE tgrelid = 'sagapost.saga_instances'::regclass AND NOT tgisinternal AND tgname NOT LIKE 'saga_instance_%'`,
  )
  expect(rows).toEqual([{ tgname: 'trigger_saga_updated_at', function: 'update_saga_updated_at' }])
})

it('[G1] takes both times from the clock of the database when they are not given', async () => {
  const rows = await inRolledBackTransaction(database.pool, async (client) => {
    const id = await insertSaga(client)
    const { rows } = await client.query(
      `SELECT created_at = sagapost.now() AS created, updated_at = sagapost.now() AS updated
       FROM sagapost.saga_instances WHERE id = $1`,
      [id],
    )
    return rows
  })
  expect(rows).toEqual([{ created: true, updated: true }])
})
