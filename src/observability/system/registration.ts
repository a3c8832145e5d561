import { hostname } from 'node:os'
import type pg from 'pg'
import { type Loop, startLoop } from '../../loop/index.js'
import { packageVersion } from '../../package-version.js'

/** The interval at which a process reports. */
const SEEN_EVERY_MS = 10_000
/** A process that has not reported for longer is lost or disconnected. */
export const LOST_AFTER_MS = 3 * SEEN_EVERY_MS
const FORGOTTEN_AFTER_MS = 3_600_000
/** How many times it says so before it looks for those that are to be forgotten. */
const ROUNDS_PER_SWEEP = 60

/** By processes_pkey. Inserts the row again if another process removed it. */
const register = `
  INSERT INTO sagapost.processes (id, hostname, pid, version, parts, saga_definitions)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (id) DO UPDATE SET seen_at = sagapost.now()`

const leave = 'DELETE FROM sagapost.processes WHERE id = $1'

/** The whole table: a row for each process of an hour. */
const forget = `
  DELETE FROM sagapost.processes WHERE seen_at < sagapost.now() - $1 * interval '1 millisecond'`

export interface RegistrationOptions {
  /** Under the role schema_maintainer. */
  pool: pg.Pool
  id: string
  parts: readonly string[]
  /** What its coordinator can run, as name@version. */
  sagaDefinitions: readonly string[]
  onError: (error: Error) => void
}

/** Keeps this process registered; a clean stop removes it. */
export function startRegistration({ pool, id, parts, sagaDefinitions, onError }: RegistrationOptions): Loop {
  const values = [id, hostname().slice(0, 255), process.pid, packageVersion(), parts, sagaDefinitions]
  let rounds = 0
  const loop = startLoop({
    async round() {
      await pool.query(register, values)
      if (rounds++ % ROUNDS_PER_SWEEP === 0) await pool.query(forget, [FORGOTTEN_AFTER_MS])
      return false
    },
    idleMs: SEEN_EVERY_MS,
    onError,
  })
  return {
    wake: loop.wake,
    async stop() {
      await loop.stop()
      await pool.query(leave, [id]).catch(() => {})
    },
  }
}
