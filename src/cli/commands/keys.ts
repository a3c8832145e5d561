import { type Command, Option } from 'commander'
import { type ApiKey, createKey, listKeys, revokeKey, type Scope, scopes } from '../../api-keys/index.js'
import { SagapostError } from '../../errors/index.js'
import { addVerb, readId } from '../add-verb.js'
import { formatFields } from '../format-table.js'
import { formatAgo, formatTime } from '../format-values.js'
import { print, printList } from '../print-list.js'
import type { Terminal } from '../terminal.js'
import { toJson } from '../to-json.js'
import { withRole } from '../with-role.js'

/** Keys are created directly in the database, so that no server needs to be running. */
export function addKeysCommands(program: Command, terminal: Terminal): void {
  const keys = program
    .command('keys')
    .description('create, list and revoke API keys, directly in the database')

  addVerb(keys, 'create', 'create a key and print it; it is shown only once', [
    'keys create --scope ingest --name checkout',
    'keys create --scope read --name dashboard --json',
  ])
    .addOption(new Option('--scope <scope>', 'permissions of the key').choices(scopes).makeOptionMandatory())
    .requiredOption('--name <name>', 'name of the key, shown in the list')
    .action(async ({ scope, name, json }: { scope: Scope; name: string; json?: true }) => {
      const created = await withRole(terminal.env, 'api_key_admin', (pool) =>
        createKey(pool, { name, scope }),
      )
      if (json) return print(terminal, toJson(created))
      return print(
        terminal,
        formatFields([
          ['Id', created.id],
          ['Name', created.name],
          ['Scope', created.scope],
          ['Key', `${created.key}  (shown only once)`],
        ]),
      )
    })

  addVerb(keys, 'list', 'list all keys, newest first, without the secret keys', ['keys list']).action(
    async ({ json }: { json?: true }) => {
      const data = await withRole(terminal.env, 'api_key_admin', listKeys)
      await printList<ApiKey>(terminal, {
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

  addVerb(keys, 'revoke', 'revoke a key permanently; servers notice within seconds', ['keys revoke 3'])
    .argument('<id>', 'id of the key', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const revoked = await withRole(terminal.env, 'api_key_admin', (pool) => revokeKey(pool, id))
      if (revoked === null) throw new SagapostError('api_key_not_found', `There is no key ${id}`)
      if (json) return print(terminal, toJson(revoked))
      return print(
        terminal,
        `Revoked key ${id} (${revoked.name}): ${formatTime(revoked.revokedAt?.toISOString() ?? null)}`,
      )
    })
}
