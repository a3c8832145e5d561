import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { hasLoginPerRole, readConfig } from '../config/index.js'
import type { DatabaseRole, Outage } from '../database/index.js'
import { errorCatalogue, SagapostError } from '../errors/index.js'
import type { Environment } from './connect-api.js'
import { visitDatabase } from './open-database.js'

export interface Visit {
  /** Under one role. */
  as<Result>(
    role: DatabaseRole,
    work: (pool: pg.Pool) => Promise<Result>,
    queryTimeoutMs?: number,
  ): Promise<Result>
  /** Under the login's own name: for what only the owner of the schema may do. */
  asLogin<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result>
}

/** Work in the database itself, under one role. */
export function withRole<Result>(
  env: Environment,
  role: DatabaseRole,
  work: (pool: pg.Pool) => Promise<Result>,
  /** A statement may take so long; absent: as long as those of the parts. */
  queryTimeoutMs?: number,
): Promise<Result> {
  return withDatabase(env, ({ as }) => as(role, work, queryTimeoutMs))
}

/** The same under several; whatever keeps it from working is one clear line. */
export async function withDatabase<Result>(
  env: Environment,
  work: (visit: Visit) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(env)
  if (config.databaseUrl === undefined && !existsSync(join(config.dataDir, 'postgres'))) {
    throw new SagapostError(
      'database_missing',
      `There is no database in ${config.dataDir}: run npm start once, or set DATABASE_URL`,
    )
  }
  // Loaded when it is asked for: most commands talk to the API alone.
  const { connect, createRolePool, outageOf } = await import('../database/index.js')
  const { url, embedded } = await visitDatabase(config)
  try {
    // Says what is wrong better than a pool does; with {role}, no login is known before the role.
    if (!hasLoginPerRole(url)) await (await connect(url)).end()
    return await work({
      async as(role, work, queryTimeoutMs) {
        const pool = createRolePool({
          databaseUrl: url,
          role,
          connectionsMax: 1,
          ...(queryTimeoutMs !== undefined && { queryTimeoutMs }),
        })
        return await work(pool)
          .catch((error: unknown) => {
            throw explainRefusal(error, role, outageOf(error))
          })
          .finally(() => pool.end())
      },
      async asLogin(work) {
        const client = await connect(url)
        return await work(client)
          .catch((error: unknown) => {
            throw explainRefusal(error, 'the owner of the schema', outageOf(error))
          })
          .finally(() => client.end())
      },
    })
  } finally {
    await embedded?.stop()
  }
}

/** The role, the schema, the table or the column is not there. */
const NOT_MIGRATED = ['22023', '3F000', '42P01', '42703']
const PERMISSION_DENIED = '42501'

function explainRefusal(error: unknown, role: string, outage: Outage | undefined): unknown {
  const { code = '', message } = error as { code?: string; message: string }
  if (outage) return new SagapostError(outage, `${errorCatalogue[outage].title}: ${message}`)
  if (NOT_MIGRATED.includes(code)) {
    return new SagapostError('schema_outdated', `${errorCatalogue.schema_outdated.title} (${message})`)
  }
  return code === PERMISSION_DENIED
    ? new SagapostError('permission_denied', `The login cannot assume ${role}: ${message}`)
    : error
}
