import type pg from 'pg'
import type { ErrorCode } from '../errors/index.js'
import { SagapostError } from '../errors/index.js'
import { within } from '../loop/index.js'
import type { Migration } from './load-migrations.js'

export interface Obstacle {
  code: ErrorCode
  detail: string
}

const selectReadiness = `
  SELECT (SELECT max(version) FROM sagapost.saga_schema_version) AS version, headroom::text, low
  FROM sagapost.partition_headroom()`

/** Schema, table or function that is not there; or the role that the connection was to run under. */
const NOT_MIGRATED = ['3F000', '42P01', '42883', '22023']
const PERMISSION_DENIED = '42501'
const ANSWER_MS_MAX = 3_000

/** What keeps this process from taking work right now; an empty list means it is ready. Never throws. */
export async function checkReadiness(pool: pg.Pool, migrations: readonly Migration[]): Promise<Obstacle[]> {
  const known = migrations.length
  try {
    const { rows } = await inTime(
      pool.query<{ version: number; headroom: string; low: boolean }>(selectReadiness),
    )
    const found = rows[0]
    const obstacles: Obstacle[] = []
    if (found?.version !== known) {
      const code = (found?.version ?? 0) > known ? 'schema_newer' : 'schema_outdated'
      obstacles.push({
        code,
        detail: `the schema is at version ${found?.version}, this release knows ${known}`,
      })
    }
    if (found?.low) {
      obstacles.push({
        code: 'partition_headroom_low',
        detail: `only ${found.headroom} more events fit into the partitions that are there`,
      })
    }
    return obstacles
  } catch (error) {
    return [obstacleOf(error)]
  }
}

/** Whoever asks wants to know now; a server that hangs is one that is away. */
function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return within(ANSWER_MS_MAX, answer, () => {
    throw new Error(`no answer within ${ANSWER_MS_MAX} ms`)
  })
}

function obstacleOf(error: unknown): Obstacle {
  const { code = '', message } = error as { code?: string; message: string }
  if (error instanceof SagapostError) return { code: error.code, detail: message }
  if (NOT_MIGRATED.includes(code))
    return { code: 'schema_outdated', detail: `the database is not migrated: ${message}` }
  if (code === PERMISSION_DENIED) return { code: 'permission_denied', detail: message }
  return { code: 'database_unreachable', detail: message }
}
