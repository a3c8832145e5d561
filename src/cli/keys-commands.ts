import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import type pg from 'pg'
import { readConfig } from '../config/index.js'
import { connect, createRolePool } from '../database/index.js'
import { errorCatalogue, SagapostError } from '../errors/index.js'
import { type ApiKey, createKey, listKeys, revokeKey, type Scope, scopes } from '../keys/index.js'
import { addVerb, readId } from './add-verb.js'
import type { Environment } from './connect-api.js'
import { formatFields } from './format-table.js'
import { formatAgo, formatTime } from './format-values.js'
import { visitDatabase } from './open-database.js'
import { print, printList } from './print-list.js'

/** Keys are made in the database itself, which also works while no server runs. */
export function addKeysCommands(program: Command, env: Environment): void {
  const keys = program.command('keys').description('make, list and revoke API keys, in the database itself')

  addVerb(keys, 'create', 'make a key and print it, this once', [
    'keys create --scope ingest --name checkout',
    'keys create --scope read --name dashboard --json',
  ])
    .addOption(new Option('--scope <scope>', 'what it may do').choices(scopes).makeOptionMandatory())
    .requiredOption('--name <name>', 'whose it is, for the list')
    .action(async ({ scope, name, json }: { scope: Scope; name: string; json?: true }) => {
      const created = await withKeys(env, (pool) => createKey(pool, { name, scope }))
      if (json) return print(JSON.stringify(created))
      return print(
        formatFields([
          ['Id', created.id],
          ['Name', created.name],
          ['Scope', created.scope],
          ['Key', `${created.key}  (shown this once)`],
        ]),
      )
    })

  addVerb(keys, 'list', 'list all keys, newest first; never the keys themselves', ['keys list']).action(
    async ({ json }: { json?: true }) => {
      const data = await withKeys(env, listKeys)
      await printList<ApiKey>({
        options: json ? { json } : {},
        list: async () => ({ data, nextCursor: null }),
        all: async function* () {
          yield* data
        },
        titles: ['ID', 'NAME', 'SCOPE', 'CREATED', 'LAST USED', 'REVOKED'],
        row: ({ id, name, scope, createdAt, lastUsedAt, revokedAt }) => [
          ...[id, name, scope, formatAgo(createdAt.toISOString())],
          ...[lastUsedAt, revokedAt].map((time) => formatAgo(time?.toISOString() ?? null)),
        ],
        empty: 'No keys',
      })
    },
  )

  addVerb(keys, 'revoke', 'end a key, for good; servers notice within seconds', ['keys revoke 3'])
    .argument('<id>', 'id of the key', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const revoked = await withKeys(env, (pool) => revokeKey(pool, id))
      if (revoked === null) throw new SagapostError('api_key_not_found', `There is no key ${id}`)
      if (json) return print(JSON.stringify(revoked))
      return print(
        `Revoked key ${id} (${revoked.name}): ${formatTime(revoked.revokedAt?.toISOString() ?? null)}`,
      )
    })
}

/** Under the role api_key_admin; whatever keeps it from working is one clear line. */
async function withKeys<Result>(env: Environment, work: (pool: pg.Pool) => Promise<Result>): Promise<Result> {
  const config = readConfig(env)
  if (config.databaseUrl === undefined && !existsSync(join(config.dataDir, 'postgres'))) {
    throw new SagapostError(
      'database_missing',
      `There is no database in ${config.dataDir} yet: run npm start once, or set DATABASE_URL`,
    )
  }
  const { url, embedded } = await visitDatabase(config)
  try {
    await (await connect(url)).end() // says what is wrong better than a pool does
    const pool = createRolePool({ databaseUrl: url, role: 'api_key_admin', connectionsMax: 1 })
    return await work(pool).finally(() => pool.end())
  } catch (error) {
    throw explainRefusal(error)
  } finally {
    await embedded?.stop()
  }
}

/** The role, the schema or the table is not there. */
const NOT_MIGRATED = ['22023', '3F000', '42P01']
const PERMISSION_DENIED = '42501'

function explainRefusal(error: unknown): unknown {
  const { code = '', message } = error as { code?: string; message: string }
  if (NOT_MIGRATED.includes(code)) {
    return new SagapostError('schema_outdated', `${errorCatalogue.schema_outdated.title} (${message})`)
  }
  return code === PERMISSION_DENIED
    ? new SagapostError('permission_denied', `The login may not work as api_key_admin: ${message}`)
    : error
}
