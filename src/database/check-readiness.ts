import type pg from 'pg'
import { type ErrorCode, SagapostError } from '../errors/index.js'
import { explainConnectError } from './connect.js'
import type { Migration } from './load-migrations.js'

export interface Obstacle {
  code: ErrorCode
  detail: string
}

const selectReadiness = `
  SELECT (SELECT max(version) FROM sagapost.saga_schema_version) AS version, headroom::text, low
  FROM sagapost.partition_headroom()`

/** What keeps this process from taking work right now; an empty list means it is ready. Never throws. */
export async function checkReadiness(pool: pg.Pool, migrations: readonly Migration[]): Promise<Obstacle[]> {
  const known = migrations.length
  try {
    const { rows } = await pool.query<{ version: number; headroom: string; low: boolean }>(selectReadiness)
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
    const { host = 'the server', port = 5432 } = pool.options
    const cause = explainConnectError(error, { host, port })
    if (cause instanceof SagapostError) return [{ code: cause.code, detail: cause.message }]
    return [{ code: 'schema_outdated', detail: `the schema cannot be read: ${(error as Error).message}` }]
  }
}
