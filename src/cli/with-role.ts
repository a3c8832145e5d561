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
  /** As the login itself, for work that requires the owner of the schema. */
  asLogin<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result>
}

/** Works directly in the database, under one role. */
export function withRole<Result>(
  env: Environment,
  role: DatabaseRole,
  work: (pool: pg.Pool) => Promise<Result>,
  /** The statement timeout; absent: the one of the parts. */
  queryTimeoutMs?: number,
): Promise<Result> {
  return withDatabase(env, ({ as }) => as(role, work, queryTimeoutMs))
}

/** The same under several roles. Failures become one-line errors. */
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
  // Loaded on demand: most commands use only the API.
  const { connect, createRolePool, outageOf } = await import('../database/index.js')
  const { url, embedded } = await visitDatabase(config)
  try {
    // Its errors are clearer than a pool's. With {role}, the login depends on the role.
    if (!hasLoginPerRole(url)) await (await connect(url)).end()
    return await work({
      async as(role, work, queryTimeoutMs) {
        const pool = createRolePool({
          databaseUrl: url,
          role,
          connectionsMax: 1,
          // The doctor takes other names for those of parts, and a session that has just ended may still be listed.
          applicationName: 'sagapost command',
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

/** SQLSTATEs of a missing role, schema, table or column. */
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
