import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../../duration.js'
import { addVerb, readId } from '../add-verb.js'
import { connectApi } from '../connect-api.js'
import { formatFields } from '../format-table.js'
import { formatTime } from '../format-values.js'
import { print } from '../print-list.js'
import type { Terminal } from '../terminal.js'
import { toJson } from '../to-json.js'
import { printSubscription } from './subscriptions.js'

const EXIT_NOT_DELIVERED = 1

interface RotateOptions {
  overlap?: number
  scheme?: 'v1' | 'v1a'
  key?: string
  json?: true
}

/** The commands for a subscription's callback and secret. */
export function addTrySubscriptionCommands(subscriptions: Command, terminal: Terminal): void {
  addVerb(
    subscriptions,
    'verify',
    'send the challenge to the callback, and activate the subscription if it answers correctly',
    ['subscriptions verify 12'],
  )
    .argument('<id>', 'id of the subscription', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      const verified = await client.subscriptions.verify(id)
      await print(terminal, json ? toJson(verified) : `Subscription ${id} is verified and active`)
    })

  addVerb(subscriptions, 'rotate-secret', 'create a new secret; for a while, requests are signed with both', [
    'subscriptions rotate-secret 12 --overlap 1h',
  ])
    .argument('<id>', 'id of the subscription', readId)
    .option(
      '--overlap <duration>',
      'how long requests are signed with both secrets (default 24h)',
      readOverlap,
    )
    .addOption(new Option('--scheme <scheme>', 'signature scheme: HMAC or ed25519').choices(['v1', 'v1a']))
    .option('--key <key>', 'idempotency key: repeating the call with it returns the same secret')
    .action(async (id: string, { overlap, scheme, key, json }: RotateOptions) => {
      const client = await connectApi(terminal.env)
      const rotated = await client.subscriptions.rotateSecret(id, {
        ...(overlap === undefined ? {} : { overlapMs: overlap }),
        ...(scheme === undefined ? {} : { scheme }),
        ...(key === undefined ? {} : { idempotencyKey: key }),
      })
      if (json) return print(terminal, toJson(rotated))
      return print(
        terminal,
        formatFields([
          ['Subscription', id],
          ['Secret', `${rotated.secret}  (shown only once)`],
          ['Previous ends', formatTime(rotated.previousExpiresAt)],
        ]),
      )
    })

  addVerb(subscriptions, 'test', 'send a signed test request; exits with 1 if it is not accepted', [
    'subscriptions test 12',
  ])
    .argument('<id>', 'id of the subscription', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      const outcome = await client.subscriptions.test(id)
      if (!outcome.delivered) terminal.exitCode = EXIT_NOT_DELIVERED
      if (json) return print(terminal, toJson(outcome))
      return print(
        terminal,
        formatFields([
          ['Delivered', outcome.delivered ? 'yes' : 'no'],
          ['HTTP', outcome.responseStatus === null ? '-' : String(outcome.responseStatus)],
          ['Error', outcome.errorCode ?? '-'],
          ['Took', `${Math.round(outcome.durationMs)} ms`],
          ['Response', outcome.responseExcerpt || '-'],
        ]),
      )
    })

  for (const [verb, active, description] of [
    ['pause', false, 'deactivate: create no new deliveries, and hold open ones'],
    ['resume', true, 'activate: deliver new events, and continue held deliveries'],
  ] as const) {
    addVerb(subscriptions, verb, description, [`subscriptions ${verb} 12`])
      .argument('<id>', 'id of the subscription', readId)
      .action(async (id: string, { json }: { json?: true }) => {
        const client = await connectApi(terminal.env)
        await printSubscription(terminal, await client.subscriptions.change(id, { active }), json)
      })
  }
}

function readOverlap(text: string): number {
  const overlapMs = parseDuration(text)
  if (overlapMs === undefined) throw new InvalidArgumentError('Must be a duration such as 30s, 5m, 1h or 7d.')
  return overlapMs
}
