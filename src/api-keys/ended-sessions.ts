import type pg from 'pg'

/**
 * How long an answer is cached: a session that was ended on another server is refused here after this time at the
 * latest.
 */
const BELIEVED_MS = 3_000
const KEPT_MAX = 10_000

// Expired cookies need no row any more; the table holds those of half a day.
const insertEnded = `
  WITH expired AS (DELETE FROM sagapost.ended_sessions WHERE expires_at < sagapost.now())
  INSERT INTO sagapost.ended_sessions (session_id, expires_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`

// By ended_sessions_pkey.
const selectEnded = `SELECT EXISTS (SELECT FROM sagapost.ended_sessions WHERE session_id = $1) AS ended`

export interface EndedSessions {
  /** Ends the session on all servers; on this one at once. */
  end(session: { id: Buffer; expiresAt: Date }): Promise<void>
  isEnded(id: Buffer): Promise<boolean>
}

/** The dashboard sessions that were signed out. Under the role api_key_admin. */
export function createEndedSessions(pool: pg.Pool, now: () => number = Date.now): EndedSessions {
  const known = new Map<string, { ended: Promise<boolean>; believedUntil: number }>()

  const remember = (id: Buffer, ended: Promise<boolean>, believedUntil: number) => {
    const name = id.toString('base64')
    known.delete(name)
    if (known.size >= KEPT_MAX) known.delete(known.keys().next().value as string)
    known.set(name, { ended, believedUntil })
  }

  return {
    async end({ id, expiresAt }) {
      remember(id, Promise.resolve(true), expiresAt.getTime())
      await pool.query(insertEnded, [id, expiresAt])
    },
    isEnded(id) {
      const cached = known.get(id.toString('base64'))
      if (cached && cached.believedUntil > now()) return cached.ended
      const asking = pool
        .query<{ ended: boolean }>(selectEnded, [id])
        .then(({ rows }) => rows[0]?.ended === true)
      // An error is not cached: the next request asks again.
      const name = id.toString('base64')
      asking.catch(() => known.get(name)?.ended === asking && known.delete(name))
      remember(id, asking, now() + BELIEVED_MS)
      return asking
    },
  }
}
