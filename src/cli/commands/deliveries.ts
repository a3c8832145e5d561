import { type Command, Option } from 'commander'
import type { Attempt, Delivery, DeliveryStatus, DeliveryWithAttempts } from '../../client/index.js'
import { deliveryMachine } from '../../model/index.js'
import { addListOptions, addVerb, type ListOptions, readId } from '../add-verb.js'
import { connectApi } from '../connect-api.js'
import { createTable, formatFields, type Row } from '../format-table.js'
import { formatAgo, formatStatus, formatTime } from '../format-values.js'
import { print, printList } from '../print-list.js'
import type { Terminal } from '../terminal.js'
import { toJson } from '../to-json.js'

interface DeliveryListOptions extends ListOptions {
  status?: DeliveryStatus
  event?: string
  subscription?: string
  error?: string
  type?: string
}

export const deliveryTitles = [
  'ID',
  'EVENT',
  'SUBSCRIPTION',
  'STATUS',
  'ATTEMPTS',
  'NEXT',
  'UPDATED',
  'ERROR',
]

export function deliveryRow(delivery: Delivery): Row {
  const { id, eventId, subscriptionId, status, attemptCount, updatedAt, finalErrorCode } = delivery
  const next = status === 'PendingRetry' ? formatAgo(delivery.nextAttemptAt) : '-'
  return [
    ...[id, eventId, subscriptionId, formatStatus(status), String(attemptCount), next],
    ...[formatAgo(updatedAt), finalErrorCode ?? '-'],
  ]
}

export function addDeliveriesCommands(program: Command, terminal: Terminal): void {
  const deliveries = program.command('deliveries').description('inspect deliveries and their attempts')

  const list = addVerb(deliveries, 'list', 'list deliveries, newest first', [
    'deliveries list --status PendingRetry',
    'deliveries list --event 1042 --json',
    'deliveries list --subscription 7 --error timeout',
  ])
    .addOption(new Option('--status <status>', 'filter by status').choices(deliveryMachine.statuses))
    .option('--event <id>', 'filter by event', readId)
    .option('--subscription <id>', 'filter by subscription', readId)
    .option('--error <code>', 'filter by the last error code: timeout, http_500, …')
    .option('--type <type>', 'filter by event type')
  addListOptions(list).action(async (options: DeliveryListOptions) => {
    const client = await connectApi(terminal.env)
    const { status, event, subscription, error, type } = options
    const filter = {
      ...(status === undefined ? {} : { status }),
      ...(event === undefined ? {} : { eventId: event }),
      ...(subscription === undefined ? {} : { subscriptionId: subscription }),
      ...(error === undefined ? {} : { errorCode: error }),
      ...(type === undefined ? {} : { eventType: type }),
    }
    await printList(terminal, {
      options,
      list: (page) => client.deliveries.list({ ...filter, ...page }),
      all: () => client.deliveries.all(filter),
      titles: deliveryTitles,
      row: deliveryRow,
      empty: 'No deliveries',
    })
  })

  addVerb(deliveries, 'show', 'show one delivery with every attempt', ['deliveries show 2042'])
    .argument('<id>', 'id of the delivery', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      const delivery = await client.deliveries.get(id)
      await print(terminal, json ? toJson(delivery) : asText(delivery))
    })

  addVerb(deliveries, 'cancel', 'cancel a delivery; it ends as a dead letter', ['deliveries cancel 2042'])
    .argument('<id>', 'id of the delivery', readId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      const delivery = await client.deliveries.cancel(id)
      await print(
        terminal,
        json ? toJson(delivery) : `Cancellation of delivery ${id} requested; it is ${delivery.status} now`,
      )
    })
}

function asText(delivery: DeliveryWithAttempts): string {
  const isOpen = delivery.status === 'Pending' || delivery.status === 'PendingRetry'
  const fields = formatFields([
    ['Delivery', delivery.id],
    ['Event', delivery.eventId],
    ['Webhook id', delivery.webhookId ?? '-'],
    ['Subscription', delivery.subscriptionId],
    ['Status', formatStatus(delivery.status)],
    ['Attempts', String(delivery.attemptCount)],
    ['Next attempt', isOpen ? formatTime(delivery.nextAttemptAt) : '-'],
    ['Error', delivery.finalErrorCode ?? '-'],
    ['Requeued from', delivery.requeuedFrom === null ? '-' : `dead letter ${delivery.requeuedFrom}`],
    ['Created', formatTime(delivery.createdAt)],
    ['Updated', formatTime(delivery.updatedAt)],
  ])
  if (delivery.attempts.length === 0) return `${fields}\n\nNo attempts yet`
  const titles = ['ATTEMPT', 'AT', 'STATUS', 'HTTP', 'ERROR', 'TOOK', 'WORKER', 'RESPONSE']
  return `${fields}\n\n${createTable(titles)(delivery.attempts.map(attemptRow))}`
}

function attemptRow(attempt: Attempt, index: number): Row {
  return [
    String(index + 1),
    formatAgo(attempt.attemptAt),
    formatStatus(attempt.status),
    attempt.responseStatus === null ? '-' : String(attempt.responseStatus),
    attempt.errorCode ?? '-',
    attempt.durationMs === null ? '-' : `${Math.round(attempt.durationMs)} ms`,
    attempt.workerId ?? '-',
    attempt.responseExcerpt || '-',
  ]
}
