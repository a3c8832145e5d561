import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createEndedSessions } from '../../src/api-keys/ended-sessions.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()
const inAnHour = () => new Date(Date.now() + 3_600_000)

it('[O2] a sign-out holds even when an earlier session lookup fails', async () => {
  const sessions = createEndedSessions(database.as('api_key_admin'))
  const id = randomBytes(16)
  const holder = await database.pool.connect()
  await holder.query('BEGIN')
  await holder.query('LOCK TABLE sagapost.ended_sessions IN ACCESS EXCLUSIVE MODE')
  const look = sessions.isEnded(id).catch((error: Error) => error)
  const cut = async () => {
    const { rows } = await database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'SELECT EXISTS%ended_sessions%'`,
    )
    return rows.length
  }
  const ending = sessions.end({ id, expiresAt: inAnHour() })
  await expect.poll(cut).toBe(1)
  expect(await look).toBeInstanceOf(Error)
  // The row is not stored yet: who asks the table now waits behind the lock.
  expect(await sessions.isEnded(id)).toBe(true)
  await holder.query('ROLLBACK')
  holder.release()
  await ending
  expect(await createEndedSessions(database.as('api_key_admin')).isEnded(id)).toBe(true)
})
