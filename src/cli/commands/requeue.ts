import { type Command, Option } from 'commander'
import type { RequeueFilter } from '../../client/index.js'
import { addRangeOptions, addVerb, type RangeOptions, readId } from '../add-verb.js'
import { connectApi } from '../connect-api.js'
import { followRequeue } from '../follow-requeue.js'
import { print } from '../print-list.js'
import { readSagaId } from '../read-saga-id.js'
import type { Terminal } from '../terminal.js'
import { toJson } from '../to-json.js'

interface RequeueOptions extends RangeOptions {
  subscription?: string
  eventType?: string
  error?: string
  all?: true
  dryRun?: true
  detach?: true
  follow?: string
  json?: true
}

/** One dead letter by its id, or all that match a filter. */
export function addRequeueCommand(deadLetters: Command, terminal: Terminal): void {
  const requeue = addVerb(
    deadLetters,
    'requeue',
    'requeue one dead letter, or all that match a filter, as new deliveries',
    [
      'dead-letters requeue 7',
      'dead-letters requeue --subscription 12 --error http_500 --from 1d --dry-run',
      'dead-letters requeue --subscription 12 --error http_500 --from 1d',
      'dead-letters requeue --follow 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a',
    ],
  )
    .argument('[id]', 'id of a dead letter; requeuing it again returns the same delivery', readId)
    .option('--subscription <id>', 'filter by subscription', readId)
    .option('--event-type <type>', 'filter by event type')
    .option('--error <code>', 'filter by error code, such as http_500')
    .option('--all', 'all dead letters')
  addRangeOptions(requeue)
    .option('--dry-run', 'only count the matching dead letters')
    .option('--detach', 'start the requeue and return at once, without waiting for it to finish')
    .addOption(new Option('--follow <saga-id>', 'follow a running requeue').argParser(readSagaId))
    .action(async (id: string | undefined, options: RequeueOptions) => {
      const { dryRun, detach, follow, json } = options
      const filter = toFilter(options)
      const filtered = Object.keys(filter).length > 0
      const given = [id !== undefined, filtered, follow !== undefined].filter(Boolean).length
      if (given !== 1) {
        return requeue.error(
          'error: specify an id, a filter (--subscription, --event-type, --error, --from, --to), --all, or --follow',
        )
      }
      if (!filtered && (dryRun || detach)) requeue.error('error: --dry-run and --detach require a filter')
      if (dryRun && detach) requeue.error('error: --dry-run and --detach cannot be used together')
      const client = await connectApi(terminal.env)
      if (id !== undefined) {
        const requeued = await client.deadLetters.requeue(id)
        const told = `Requeued dead letter ${id} as delivery ${requeued.deliveryId}`
        return print(terminal, json ? toJson(requeued) : told)
      }
      if (dryRun) {
        const matching = await client.deadLetters.countMatching(filter)
        return print(
          terminal,
          json ? toJson({ matching }) : `${describeMatching(matching)}; nothing was done`,
        )
      }
      if (follow !== undefined) return followRequeue(terminal, client, follow, { json })
      const started = await client.deadLetters.requeueMatching(filter)
      if (detach && json) return print(terminal, toJson(started))
      if (!json)
        await print(terminal, `${describeMatching(started.matching)}: saga ${started.sagaId} requeues them`)
      if (!detach) await followRequeue(terminal, client, started.sagaId, { json })
    })
}

function describeMatching(matching: number): string {
  return matching === 1 ? '1 dead letter matches' : `${matching.toLocaleString('en-US')} dead letters match`
}

function toFilter({ subscription, eventType, error, from, to, all }: RequeueOptions): RequeueFilter {
  return {
    ...(subscription === undefined ? {} : { subscriptionId: subscription }),
    ...(eventType === undefined ? {} : { eventType }),
    ...(error === undefined ? {} : { errorCode: error }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(all ? { all } : {}),
  }
}
