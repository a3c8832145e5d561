import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Subscription } from '../../client/index.js'
import { addListOptions, addVerb, type ListOptions, readId } from '../add-verb.js'
import { connectApi } from '../connect-api.js'
import { type Cell, formatFields } from '../format-table.js'
import { formatAgo, formatEndpoint, formatState, formatTime } from '../format-values.js'
import { print, printList } from '../print-list.js'
import type { Terminal } from '../terminal.js'
import { toJson } from '../to-json.js'

interface SubscriptionListOptions extends ListOptions {
  type?: string
  active?: boolean
  inactive?: true
  deleted?: true
  failing?: true
}

interface CreateOptions {
  json?: true
  maxAttempts?: number | 'default'
  header?: Record<string, string>
  scheme?: 'v1' | 'v1a'
  key?: string
}

interface UpdateOptions extends Pick<CreateOptions, 'json' | 'maxAttempts'> {
  type?: string
  url?: string
  header?: Record<string, string>
  headers?: false
}

/** Commands that read and write subscriptions; those for callbacks and secrets are in subscription-actions.ts. */
export function addSubscriptionsCommands(subscriptions: Command, terminal: Terminal): void {
  const list = addVerb(
    subscriptions,
    'list',
    'list subscriptions, newest first; --deleted lists deleted ones',
    ['subscriptions list --type order.placed', 'subscriptions list --failing'],
  )
    .option('--type <type>', 'filter by event type')
    .addOption(new Option('--active', 'only active subscriptions').conflicts('inactive'))
    .option('--inactive', 'only inactive subscriptions')
    .option('--deleted', 'only deleted subscriptions')
    .option('--failing', 'only subscriptions whose endpoint fails or is paused')
  addListOptions(list).action(async (options: SubscriptionListOptions) => {
    const client = await connectApi(terminal.env)
    const { type, active, inactive, deleted = false, failing } = options
    const filter = {
      deleted,
      ...(type === undefined ? {} : { eventType: type }),
      ...(active || inactive ? { active: active === true } : {}),
      ...(failing ? { failing } : {}),
    }
    await printList(terminal, {
      options,
      list: (page) => client.subscriptions.list({ ...filter, ...page }),
      all: () => client.subscriptions.all(filter),
      titles: ['ID', 'TYPE', 'STATE', 'ENDPOINT', 'CREATED', 'CALLBACK'],
      row: (each) => [
        each.id,
        each.eventType,
        formatState(each),
        formatEndpoint(each.breaker),
        formatAgo(each.createdAt),
        each.callbackUrl,
      ],
      empty: 'No subscriptions',
    })
  })

  addVerb(subscriptions, 'show', 'show one subscription', ['subscriptions show 12'])
    .argument('<id>', 'id of the subscription', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      await printSubscription(terminal, await client.subscriptions.get(id), json)
    })

  addVerb(subscriptions, 'create', 'create a subscription; prints its secret, which is shown only once', [
    'subscriptions create order.placed https://receiver.example/hooks',
    `subscriptions create order.placed https://receiver.example/hooks --header 'x-tenant: north'`,
  ])
    .argument('<type>', 'event type, such as order.placed')
    .argument('<callback-url>', 'URL that receives the events; https only')
    .option(
      '--max-attempts <number>',
      'attempts before a delivery becomes a dead letter, 1 to 100',
      readAttempts,
    )
    .option('--header <name: value>', 'header sent with every delivery; repeatable', collectHeader)
    .addOption(new Option('--scheme <scheme>', 'signature scheme: HMAC or ed25519').choices(['v1', 'v1a']))
    .option('--key <key>', 'idempotency key: repeating the call with it creates nothing new')
    .action(async (eventType: string, callbackUrl: string, options: CreateOptions) => {
      const client = await connectApi(terminal.env)
      const { maxAttempts, header, scheme, key, json } = options
      const created = await client.subscriptions.create(
        {
          eventType,
          callbackUrl,
          ...(maxAttempts === undefined
            ? {}
            : { maxAttempts: maxAttempts === 'default' ? null : maxAttempts }),
          ...(header === undefined ? {} : { headers: header }),
          ...(scheme === undefined ? {} : { scheme }),
        },
        key === undefined ? {} : { idempotencyKey: key },
      )
      await printSubscription(terminal, created, json)
      if (!json) await print(terminal, `\nNext: sagapost subscriptions verify ${created.id}`)
    })

  addVerb(subscriptions, 'update', 'change the given fields of a subscription', [
    'subscriptions update 12 --url https://receiver.example/new',
    'subscriptions update 12 --max-attempts default',
  ])
    .argument('<id>', 'id of the subscription', readId)
    .option('--type <type>', 'new event type')
    .option('--url <callback-url>', 'new callback; it must be verified again')
    .option('--max-attempts <number>', '1 to 100, or default', readAttempts)
    .option('--header <name: value>', 'headers that replace all present ones; repeatable', collectHeader)
    .option('--no-headers', 'remove all headers')
    .action(async (id: string, options: UpdateOptions, command: Command) => {
      const { type, url, maxAttempts, header, headers, json } = options
      const change = {
        ...(type === undefined ? {} : { eventType: type }),
        ...(url === undefined ? {} : { callbackUrl: url }),
        ...(maxAttempts === undefined ? {} : { maxAttempts: maxAttempts === 'default' ? null : maxAttempts }),
        ...(header === undefined ? {} : { headers: header }),
        ...(headers === false ? { headers: {} } : {}),
      }
      if (Object.keys(change).length === 0) command.error('error: no change specified')
      const client = await connectApi(terminal.env)
      await printSubscription(terminal, await client.subscriptions.change(id, change), json)
    })

  addVerb(subscriptions, 'delete', 'delete a subscription permanently; open deliveries end as dead letters', [
    'subscriptions delete 12',
  ])
    .argument('<id>', 'id of the subscription', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      await client.subscriptions.delete(id)
      await print(terminal, json ? toJson({ id, deleted: true }) : `Deleted subscription ${id}`)
    })
}

export async function printSubscription(
  terminal: Terminal,
  subscription: Subscription & { secret?: string },
  json: true | undefined,
): Promise<void> {
  if (json) return print(terminal, toJson(subscription))
  const { id, eventType, callbackUrl, maxAttempts, headers, secret } = subscription
  await print(
    terminal,
    formatFields([
      ['Subscription', id],
      ['Type', eventType],
      ['Callback', callbackUrl],
      ['State', formatState(subscription)],
      ...describeBreaker(subscription.breaker),
      ['Max attempts', maxAttempts === null ? 'default' : String(maxAttempts)],
      ...Object.entries(headers).map(([name, value]) => ['Header', `${name}: ${value}`] as const),
      ['Created', formatTime(subscription.createdAt)],
      ['Updated', formatTime(subscription.updatedAt)],
      ...(subscription.deletedAt === null ? [] : [['Deleted', formatTime(subscription.deletedAt)] as const]),
      ...(secret === undefined ? [] : [['Secret', `${secret}  (shown only once)`] as const]),
    ]),
  )
}

function describeBreaker(breaker: Subscription['breaker']): [string, string | Cell][] {
  if (breaker === null) return []
  const { failures, failingSince, lastErrorCode, pausedUntil, nextProbeAt } = breaker
  return [
    ['Endpoint', formatEndpoint(breaker)],
    ['Failures', `${failures} consecutive, last error ${lastErrorCode ?? '-'}`],
    ['Failing since', formatTime(failingSince)],
    ...(pausedUntil === null ? [] : [['Paused until', formatTime(pausedUntil)] as [string, string]]),
    ...(nextProbeAt === null ? [] : [['Next probe', formatTime(nextProbeAt)] as [string, string]]),
  ]
}

/** `default` stays as it is: commander makes an empty text of null. */
function readAttempts(text: string): number | 'default' {
  if (text === 'default') return text
  if (/^[1-9]\d?$|^100$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Must be a number from 1 to 100, or default.')
}

function collectHeader(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [, name, value] = /^\s*([^:\s]+)\s*:\s*(.*?)\s*$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('Must have the form name: value.')
  return { ...before, [name]: value }
}
