import type pg from 'pg'

const NOTED_EVERY_MS = 60_000

/** By the primary key. The condition keeps several servers from writing the same minute several times. */
const noteUse = `
  UPDATE sagapost.api_keys
  SET last_used_at = sagapost.now()
  WHERE id = ANY ($1::bigint[])
    AND (last_used_at IS NULL OR last_used_at < sagapost.now() - $2 * interval '1 millisecond')`

export interface KeyUseNotes {
  /** Never waits and never fails, since requests must not depend on it. */
  note(keyId: string): void
  /** Resolves when all noted uses are written or have failed. */
  settled(): Promise<void>
}

/** Maintains last_used_at to the minute, outside the path of requests. */
export function createKeyUseNotes(pool: pg.Pool, now: () => number = Date.now): KeyUseNotes {
  const notedAt = new Map<string, number>()
  let writing: Promise<void> = Promise.resolve()
  let pending: string[] = []

  const write = async () => {
    const ids = pending
    pending = []
    if (ids.length === 0) return
    await pool.query(noteUse, [ids, NOTED_EVERY_MS]).catch(() => {
      for (const id of ids) notedAt.delete(id) // the next use tries again
    })
  }

  return {
    note(keyId) {
      const last = notedAt.get(keyId)
      if (last !== undefined && now() - last < NOTED_EVERY_MS) return
      notedAt.set(keyId, now())
      pending.push(keyId)
      writing = writing.then(write)
    },
    settled: () => writing,
  }
}
