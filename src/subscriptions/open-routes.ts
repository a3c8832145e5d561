import type pg from 'pg'

/**
 * Notes from which event on subscriptions that have become active get all of their type, so that the doctor can tell an
 * event that was lost. In a transaction of its own, after the activation is committed; repeatable, and it never waits.
 * Under the role subscription_admin or schema_maintainer.
 */
export async function openRoutes(pool: pg.Pool): Promise<void> {
  await pool.query('SELECT sagapost.open_routes()')
}
