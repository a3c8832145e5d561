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
  addVerb(program, 'publish', 'publish an event; its payload is kept byte for byte', [
    `publish order.placed '{"order": 7}' --key order-7-placed`,
    'publish order.placed --file order.json',
    'publish order.placed - < order.json',
  ])
    .argument('<type>', 'type of the event, as in order.placed')
    .argument('[payload]', 'JSON; - reads standard input')
    .option('--file <file>', 'read the payload from a file')
    .option('--key <key>', 'idempotency key: the same event with the same key again stores nothing new')
    .option('--correlation-id <id>', 'goes with the event to its receivers and into the logs')
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
          ? `Event ${receipt.id} has this key already: a duplicate, nothing new was stored`
          : `Published event ${receipt.id}`,
      )
    })
}
