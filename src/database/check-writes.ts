import type pg from 'pg'
import { errorCatalogue } from '../errors/index.js'
import type { Obstacle } from './check-readiness.js'
import { type Outage, outageOf } from './outage.js'

/**
 * A transaction of its own with nothing in it but a record in the WAL: it must be flushed, and reach the synchronous
 * standbys, as an event must before it is acknowledged. No table, no lock, no row that grows old.
 */
const commitNothing = `
  SELECT pg_catalog.set_config('synchronous_commit', 'on', true)
  WHERE pg_catalog.current_setting('synchronous_commit') IN ('off', 'local');
  SELECT pg_catalog.pg_logical_emit_message(true, 'sagapost', '')`

/** 70 kB in a temporary file: room on the disk, as a table needs it to grow; any role may. */
const writeToDisk = `
  SELECT pg_catalog.set_config('work_mem', '64kB', true);
  SELECT count(*) FROM pg_catalog.generate_series(1, 5000)`

const selectStandbys = `
  SELECT pg_catalog.current_setting('synchronous_standby_names') AS names,
         (SELECT count(*) FROM pg_catalog.pg_stat_replication) AS connected`

/**
 * Checks for what would prevent a write from being stored, with a real commit and with space on the disk. Takes 2 ms
 * and a flush, on connections with a short statement time-out. Null when this login may not try. Never throws.
 */
export async function checkWrites(pool: pg.Pool): Promise<Obstacle[] | null> {
  try {
    await pool.query(commitNothing)
  } catch (error) {
    const code = outageOf(error)
    if (code === 'database_timed_out') return [await describeStall(pool, error as Error)]
    return code ? [obstacleOf(code, error)] : null
  }
  try {
    await pool.query(writeToDisk)
  } catch (error) {
    // Any other failure, such as temp_file_limit, does not concern writes.
    const code = outageOf(error)
    if (code === 'database_full') return [obstacleOf(code, error)]
  }
  return []
}

function obstacleOf(code: Outage, error: unknown): Obstacle {
  return { code, detail: errorCatalogue[code].title, cause: (error as Error).message }
}

async function describeStall(pool: pg.Pool, { message }: Error): Promise<Obstacle> {
  const code = 'database_timed_out'
  const { rows } = await pool
    .query<{ names: string; connected: string }>(selectStandbys)
    .catch(() => ({ rows: [] }))
  const { names, connected } = rows[0] ?? { names: '', connected: '0' }
  return names === ''
    ? { code, detail: 'a write was not committed in time', cause: message }
    : {
        code,
        detail: 'a write was not committed in time: a synchronous standby is missing or does not answer',
        cause: `synchronous_standby_names is "${names}", standbys connected: ${connected}`,
      }
}
