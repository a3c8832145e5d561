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

/** What a subscription's owner does with its callback and its secret. */
export function addTrySubscriptionCommands(subscriptions: Command, terminal: Terminal): void {
  addVerb(subscriptions, 'verify', 'send the challenge to the callback, and activate it when it answers', [
    'subscriptions verify 12',
  ])
    .argument('<id>', 'id of the subscription', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      const verified = await client.subscriptions.verify(id)
      await print(terminal, json ? toJson(verified) : `Subscription ${id} is verified and active`)
    })

  addVerb(subscriptions, 'rotate-secret', 'make a new secret; the previous one signs along for a while', [
    'subscriptions rotate-secret 12 --overlap 1h',
  ])
    .argument('<id>', 'id of the subscription', readId)
    .option('--overlap <duration>', 'how long the previous one signs along (default 24h)', readOverlap)
    .addOption(new Option('--scheme <scheme>', 'of the signature: HMAC or ed25519').choices(['v1', 'v1a']))
    .option('--key <key>', 'idempotency key: the same again makes no other secret')
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
          ['Secret', `${rotated.secret}  (shown this once)`],
          ['Previous ends', formatTime(rotated.previousExpiresAt)],
        ]),
      )
    })

  addVerb(subscriptions, 'test', 'send a signed request at once; exits with 1 when it is not taken', [
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
  if (overlapMs === undefined) throw new InvalidArgumentError('It reads 30s, 5m, 1h or 7d.')
  return overlapMs
}
