import type { Command } from 'commander'
import type { DeadLetterWithPayload } from '../../client/index.js'
import {
  addListOptions,
  addRangeOptions,
  addVerb,
  type ListOptions,
  type RangeOptions,
  readId,
} from '../add-verb.js'
import { connectApi } from '../connect-api.js'
import { formatFields } from '../format-table.js'
import { formatAgo, formatTime } from '../format-values.js'
import { print, printList } from '../print-list.js'
import { showPayload } from '../show-payload.js'
import type { Terminal } from '../terminal.js'
import { withJsonText } from '../to-json.js'
import { addRequeueCommand } from './requeue.js'

interface DeadLetterListOptions extends ListOptions, RangeOptions {
  subscription?: string
  type?: string
  error?: string
}

export function addDeadLettersCommands(program: Command, terminal: Terminal): void {
  const deadLetters = program
    .command('dead-letters')
    .description('inspect failed deliveries and requeue them')

  const list = addVerb(deadLetters, 'list', 'list dead letters, newest first', [
    'dead-letters list --subscription 12 --from 1d',
    'dead-letters list --error http_500 --json',
  ])
    .option('--subscription <id>', 'filter by subscription', readId)
    .option('--type <type>', 'filter by event type')
    .option('--error <code>', 'filter by error code, such as http_500')
  addListOptions(addRangeOptions(list)).action(async (options: DeadLetterListOptions) => {
    const client = await connectApi(terminal.env)
    const { subscription, type, error, from, to } = options
    const filter = {
      ...(subscription === undefined ? {} : { subscriptionId: subscription }),
      ...(type === undefined ? {} : { eventType: type }),
      ...(error === undefined ? {} : { errorCode: error }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    }
    await printList(terminal, {
      options,
      list: (page) => client.deadLetters.list({ ...filter, ...page }),
      all: () => client.deadLetters.all(filter),
      titles: ['ID', 'EVENT', 'TYPE', 'SUBSCRIPTION', 'ERROR', 'FAILED', 'REQUEUED AS'],
      row: (letter) => [
        ...[letter.id, letter.eventId, letter.eventType, letter.subscriptionId],
        ...[letter.finalErrorCode ?? '-', formatAgo(letter.failedAt), letter.requeuedAs ?? '-'],
      ],
      empty: 'No dead letters',
    })
  })

  addVerb(deadLetters, 'show', 'show one dead letter with its payload', ['dead-letters show 7'])
    .argument('<id>', 'id of the dead letter', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      const letter = await client.deadLetters.get(id)
      await print(terminal, json ? asJson(letter) : asText(letter))
    })

  addRequeueCommand(deadLetters, terminal)
}

function asJson({ payloadSnapshot: _, payloadSnapshotJson, ...letter }: DeadLetterWithPayload): string {
  return withJsonText(letter, 'payloadSnapshot', payloadSnapshotJson)
}

function asText(letter: DeadLetterWithPayload): string {
  const fields = formatFields([
    ['Dead letter', letter.id],
    ['Delivery', letter.deliveryId],
    ['Event', letter.eventId],
    ['Webhook id', letter.webhookId ?? '-'],
    ['Type', letter.eventType],
    ['Subscription', letter.subscriptionId],
    ['Error', letter.finalErrorCode ?? '-'],
    ['Attempts', String(letter.attemptCount)],
    ['Failed', formatTime(letter.failedAt)],
    ['Last job', letter.jobId ?? '-'],
    ['Worker', letter.workerId ?? '-'],
    ['Correlation', letter.correlationId ?? '-'],
    ['Requeued as', letter.requeuedAs ?? '-'],
  ])
  return `${fields}\n\nPayload\n${showPayload(letter.payloadSnapshotJson, letter.payloadTooLarge)}`
}
