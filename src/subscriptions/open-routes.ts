import type pg from 'pg'

/**
 * Records the event from which newly activated subscriptions receive all events of their type, so that the doctor can
 * detect a lost event. Runs in its own transaction after the activation has committed; repeatable, and never waits.
 * Under the role subscription_admin or schema_maintainer.
 */
export async function openRoutes(pool: pg.Pool): Promise<void> {
  await pool.query('SELECT sagapost.open_routes()')
}
