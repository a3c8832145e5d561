import type { Command } from 'commander'
import { addVerb } from '../add-verb.js'
import { connectApi } from '../connect-api.js'
import { print } from '../print-list.js'
import { readPayload } from '../read-payload.js'
import type { Terminal } from '../terminal.js'
import { toJson } from '../to-json.js'

interface PublishOptions {
  file?: string
  key?: string
  correlationId?: string
  json?: true
}

export function addPublishCommand(program: Command, terminal: Terminal): void {
  addVerb(program, 'publish', 'publish an event; its payload is stored byte for byte', [
    `publish order.placed '{"order": 7}' --key order-7-placed`,
    'publish order.placed --file order.json',
    'publish order.placed - < order.json',
  ])
    .argument('<type>', 'event type, such as order.placed')
    .argument('[payload]', 'payload as JSON; - reads standard input')
    .option('--file <file>', 'read the payload from a file')
    .option(
      '--key <key>',
      'idempotency key: publishing the same event again with this key stores nothing new',
    )
    .option('--correlation-id <id>', 'correlation id, sent to receivers and written to the logs')
    .action(async (type: string, payload: string | undefined, options: PublishOptions, command: Command) => {
      const { file, key, correlationId, json } = options
      if ((payload === undefined) === (file === undefined)) {
        command.error('error: give the payload as an argument, as --file <file>, or as - for standard input')
      }
      const payloadJson = await readPayload(payload, file, terminal.stdin)
      const client = await connectApi(terminal.env)
      const receipt = await client.events.publish(
        { type, payloadJson, ...(key === undefined ? {} : { idempotencyKey: key }) },
        correlationId === undefined ? {} : { correlationId },
      )
      if (json) return print(terminal, toJson(receipt))
      return print(
        terminal,
        receipt.duplicate
          ? `Event ${receipt.id} was already published with this key; nothing new was stored`
          : `Published event ${receipt.id}`,
      )
    })
}
