import { expect, it } from 'vitest'
import { inTransaction } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase({ migrated: false })

it('[S22] committed changes are visible to other transactions', async () => {
  const other = await database.pool.connect()
  try {
    await inTransaction(database.pool, (client) => client.query('CREATE TABLE kept (number integer)'))
    const { rows } = await other.query(`SELECT to_regclass('kept') IS NOT NULL AS found`)
    expect(rows).toEqual([{ found: true }])
  } finally {
    other.release()
  }
})

it('[S22] a commit that fails is a failure', async () => {
  await database.pool.query('CREATE TABLE once (number integer UNIQUE DEFERRABLE INITIALLY DEFERRED)')
  await expect(
    inTransaction(database.pool, (client) => client.query('INSERT INTO once VALUES (1), (1)')),
  ).rejects.toMatchObject({ code: '23505' })
  const { rows } = await database.pool.query('SELECT number FROM once')
  expect(rows).toEqual([])
})
