import type { Command } from 'commander'
import type { EventWithPayload } from '../../client/index.js'
import {
  addListOptions,
  addRangeOptions,
  addVerb,
  type ListOptions,
  type RangeOptions,
  readEventId,
} from '../add-verb.js'
import { connectApi } from '../connect-api.js'
import { createTable, formatFields } from '../format-table.js'
import { formatAgo, formatTime } from '../format-values.js'
import { print, printList } from '../print-list.js'
import { requeueUnrouted } from '../requeue-unrouted.js'
import { showPayload } from '../show-payload.js'
import type { Terminal } from '../terminal.js'
import { withJsonText } from '../to-json.js'
import { deliveryRow, deliveryTitles } from './deliveries.js'

interface EventListOptions extends ListOptions, RangeOptions {
  type?: string
  key?: string
}

export function addEventsCommands(program: Command, terminal: Terminal): void {
  const events = program
    .command('events')
    .description('inspect events, and requeue events that were not routed')

  const list = addVerb(events, 'list', 'list events, newest first', [
    'events list --type order.placed --from 1h',
    'events list --all --json',
    'events list --key order-1042',
  ])
    .option('--type <type>', 'filter by event type')
    .option('--key <key>', 'only the event published with this idempotency key')
  addListOptions(addRangeOptions(list)).action(async (options: EventListOptions) => {
    const client = await connectApi(terminal.env)
    const { type, key, from, to } = options
    const filter = {
      ...(type === undefined ? {} : { type }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    }
    await printList(terminal, {
      options,
      list: (page) => client.events.list({ ...filter, ...page }),
      all: () => client.events.all(filter),
      titles: ['ID', 'TYPE', 'CREATED', 'CORRELATION'],
      row: (event) => [event.id, event.type, formatAgo(event.createdAt), event.correlationId ?? '-'],
      empty: 'No events',
    })
  })

  addVerb(events, 'show', 'show one event with its payload and deliveries', [
    'events show 1042',
    'events show evt_1042_hfd2trxwlc',
  ])
    .argument('<id>', 'id of the event, or its webhook id', readEventId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      const event = await client.events.get(id)
      await print(terminal, json ? asJson(event) : asText(event))
    })

  addRoutingVerbs(events, terminal)
}

function addRoutingVerbs(events: Command, terminal: Terminal): void {
  const setAside = addVerb(
    events,
    'set-aside',
    'list events that the database refuses to route, newest first',
    ['events set-aside', 'events set-aside --all --json'],
  )
  addListOptions(setAside).action(async (options: ListOptions) => {
    const client = await connectApi(terminal.env)
    await printList(terminal, {
      options,
      list: (page) => client.events.listSetAside(page),
      all: () => client.events.allSetAside(),
      titles: ['EVENT', 'TYPE', 'SET ASIDE', 'ERROR', 'REASON'],
      row: (event) => [
        ...[event.eventId, event.type, formatAgo(event.setAsideAt)],
        ...[event.errorCode, event.reason],
      ],
      empty: 'No events were set aside',
    })
  })

  addVerb(events, 'requeue', 'requeue events that were set aside or lost, directly in the database', [
    'events requeue',
    'events requeue --json',
  ]).action((options: { json?: true }) => requeueUnrouted(terminal, options))
}

function asJson({ payload: _, payloadJson, ...event }: EventWithPayload): string {
  return withJsonText(event, 'payload', payloadJson)
}

function asText(event: EventWithPayload): string {
  const fields = formatFields([
    ['Event', event.id],
    ['Webhook id', event.webhookId],
    ['Type', event.type],
    ['Created', formatTime(event.createdAt)],
    ['Correlation', event.correlationId ?? '-'],
  ])
  const payload = `Payload\n${showPayload(event.payloadJson, event.payloadTooLarge)}`
  if (event.deliveries.length === 0) return `${fields}\n\n${payload}\n\nNo deliveries`
  const table = createTable(deliveryTitles)(event.deliveries.map(deliveryRow))
  const more =
    event.deliveriesNextCursor === null ? '' : `\n… sagapost deliveries list --event ${event.id} --all`
  return `${fields}\n\n${payload}\n\nDeliveries\n${table}${more}`
}
