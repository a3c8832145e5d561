import type pg from 'pg'
import { type ErrorCode, errorCatalogue, SagapostError } from '../errors/index.js'
import { within } from '../loop/index.js'
import { findForeignMigration } from './find-foreign-migration.js'
import type { Migration } from './load-migrations.js'
import { outageOf } from './outage.js'

export interface Obstacle {
  code: ErrorCode
  /** Our own words: safe to show to strangers. */
  detail: string
  /** The server's or the driver's words, for operators. */
  cause?: string
}

const selectReadiness = `
  SELECT (SELECT json_agg(json_build_object('version', version, 'name', name) ORDER BY version)
          FROM sagapost.saga_schema_version) AS applied,
         headroom::text, low,
         pg_catalog.pg_is_in_recovery() AS is_standby,
         pg_catalog.current_setting('transaction_read_only') = 'on' AS is_read_only
  FROM sagapost.partition_headroom()`

/** A missing schema, table or function, or a missing role. */
const NOT_MIGRATED = ['3F000', '42P01', '42883', '22023']
const PERMISSION_DENIED = '42501'
const ANSWER_MS_MAX = 3_000

/** Lists what prevents this process from taking work, as far as reading can tell; empty means ready. Never throws. */
export async function checkReadiness(pool: pg.Pool, migrations: readonly Migration[]): Promise<Obstacle[]> {
  const known = migrations.length
  try {
    const { rows } = await inTime(
      pool.query<{
        applied: { version: number; name: string }[] | null
        headroom: string
        low: boolean
        is_standby: boolean
        is_read_only: boolean
      }>(selectReadiness),
    )
    const found = rows[0]
    const obstacles: Obstacle[] = []
    const applied = found?.applied ?? []
    const version = applied.at(-1)?.version ?? 0
    const foreign = findForeignMigration(migrations, applied)
    if (foreign !== undefined) {
      obstacles.push({
        code: 'schema_unreleased',
        detail: `a development version of Sagapost made the schema, and no release can upgrade it: ${foreign}`,
      })
    } else if (version !== known) {
      obstacles.push({
        code: version > known ? 'schema_newer' : 'schema_outdated',
        detail: `the schema is at version ${version}, this release knows ${known}`,
      })
    }
    if (found?.low) {
      obstacles.push({
        code: 'partition_headroom_low',
        detail: `only ${found.headroom} more events fit into the partitions that are there`,
      })
    }
    if (found?.is_standby || found?.is_read_only) {
      const detail = found.is_standby
        ? 'PostgreSQL is a standby and takes no writes'
        : 'PostgreSQL takes no writes: default_transaction_read_only is on'
      obstacles.push({ code: 'database_read_only', detail })
    }
    return obstacles
  } catch (error) {
    return [obstacleOf(error)]
  }
}

/** The caller needs a prompt answer; a server that hangs counts as away. */
function inTime<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return within(ANSWER_MS_MAX, answer, () => {
    throw new Error(`no answer within ${ANSWER_MS_MAX} ms`)
  })
}

function obstacleOf(error: unknown): Obstacle {
  const { code: state = '', message: cause } = error as { code?: string; message: string }
  const obstacle = (code: ErrorCode): Obstacle => ({ code, detail: errorCatalogue[code].title, cause })
  if (error instanceof SagapostError) return obstacle(error.code)
  if (NOT_MIGRATED.includes(state))
    return { ...obstacle('schema_outdated'), detail: 'the database is not migrated' }
  if (state === PERMISSION_DENIED) return obstacle('permission_denied')
  return obstacle(outageOf(error) ?? 'database_unreachable')
}

/** The obstacle as one line for operators. */
export function explainObstacle({ detail, cause }: Obstacle): string {
  return cause === undefined ? detail : `${detail}: ${cause}`
}
