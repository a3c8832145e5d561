import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Saga, SagaResolution, SagaState } from '../../client/index.js'
import { sagaMachine } from '../../model/index.js'
import { addListOptions, addVerb, type ListOptions, readAge, readPositive } from '../add-verb.js'
import { connectApi } from '../connect-api.js'
import { describeSaga } from '../describe-saga.js'
import type { Row } from '../format-table.js'
import { formatAgo, formatStatus } from '../format-values.js'
import { print, printList } from '../print-list.js'
import { readSagaId } from '../read-saga-id.js'
import { runCleanup } from '../run-cleanup.js'
import { type MaintainOptions, maintenanceTasks, runMaintain } from '../run-maintain.js'
import { showSagaTables } from '../show-saga-tables.js'
import type { Terminal } from '../terminal.js'
import { toJson } from '../to-json.js'

interface SagaListOptions extends ListOptions {
  state?: SagaState
  definition?: string
  trace?: string
  stuck?: true
}

interface Words {
  by?: string
  why: string
  json?: true
}

const titles = ['ID', 'DEFINITION', 'STATE', 'STEP', 'CREATED', 'UPDATED', 'ERROR']

export function addSagasCommands(program: Command, terminal: Terminal): void {
  const sagas = program.command('sagas').description('inspect and cancel sagas, and resolve stuck ones')

  const list = addVerb(sagas, 'list', 'list sagas, newest first', [
    'sagas list --stuck',
    'sagas list --definition checkout --state Running',
    'sagas list --trace 4bf92f3577b34da6a3ce929d0e0e4736 --json',
  ])
    .addOption(new Option('--state <state>', 'filter by state').choices(sagaMachine.statuses))
    .option('--definition <name>', 'filter by definition')
    .option('--trace <id>', 'filter by trace')
    .option('--stuck', 'only sagas that wait for an operator')
  addListOptions(list).action(async (options: SagaListOptions) => {
    const client = await connectApi(terminal.env)
    const { state, definition, trace, stuck } = options
    const filter = {
      ...(state === undefined ? {} : { state }),
      ...(definition === undefined ? {} : { definition }),
      ...(trace === undefined ? {} : { traceId: trace }),
      ...(stuck ? { awaitingOperator: true as const } : {}),
    }
    await printList(terminal, {
      options,
      list: (page) => client.sagas.list({ ...filter, ...page }),
      all: () => client.sagas.all(filter),
      titles,
      row: sagaRow,
      empty: 'No sagas',
    })
  })

  addVerb(sagas, 'show', 'show one saga with its steps and its history', [
    'sagas show 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a',
  ])
    .argument('<id>', 'id of the saga', readSagaId)
    .action(async (id: string, { json }: { json?: true }) => {
      const client = await connectApi(terminal.env)
      const saga = await client.sagas.get(id)
      await print(terminal, json ? toJson(saga) : describeSaga(saga))
    })

  const cancel = addVerb(sagas, 'cancel', 'cancel a saga and compensate its completed steps', [
    "sagas cancel 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a --why 'ordered twice'",
  ]).argument('<id>', 'id of the saga', readSagaId)
  addWords(cancel).action(async (id: string, words: Words) => {
    const { why, json } = words
    const by = readBy(cancel, words, terminal)
    const client = await connectApi(terminal.env)
    const saga = await client.sagas.cancel(id, { by, why })
    const asked =
      saga.state === 'Cancelled'
        ? `Saga ${id} is Cancelled; none of its steps had run`
        : `Cancellation of saga ${id} requested; it is ${saga.state} now`
    await print(terminal, json ? toJson(saga) : asked)
  })

  const resolve = addVerb(sagas, 'resolve', 'decide how a saga that waits for an operator continues', [
    "sagas resolve 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a --action retry --why 'the bank is open again'",
    "sagas resolve 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a --action resolve --why 'paid back by hand'",
    "sagas resolve 1b0c6b1e-5d0f-4f0e-9b1a-2f6f1c3d4e5a --action skip --why 'the receiver is gone'",
  ])
    .argument('<id>', 'id of the saga', readSagaId)
    .addOption(
      new Option(
        '--action <action>',
        'retry: compensate again; skip: continue without this step; resolve: accept the state as it is',
      )
        .choices(['retry', 'skip', 'resolve'])
        .makeOptionMandatory(),
    )
  addWords(resolve).action(async (id: string, options: Words & Pick<SagaResolution, 'action'>) => {
    const { action, why, json } = options
    const by = readBy(resolve, options, terminal)
    const client = await connectApi(terminal.env)
    const saga = await client.sagas.resolve(id, { action, by, why })
    await print(terminal, json ? toJson(saga) : `Saga ${id} is ${saga.state} now`)
  })

  addVerb(sagas, 'signal', 'send a signal to the sagas that wait for it, now or later', [
    'sagas signal payment.received order-7',
    'sagas signal payment.received order-7 --payload \'{"cents":4000}\'',
  ])
    .argument('<name>', 'name of the signal')
    .argument('<key>', 'key of the signal')
    .option('--payload <json>', 'payload as JSON', readJson)
    .action(async (name: string, key: string, { payload, json }: { payload?: unknown; json?: true }) => {
      const client = await connectApi(terminal.env)
      const receipt = await client.sagas.signal({ name, key, ...(payload === undefined ? {} : { payload }) })
      const said = receipt.duplicate ? 'Already received' : `Kept until ${receipt.expiresAt}`
      await print(terminal, json ? toJson(receipt) : said)
    })

  addVerb(sagas, 'cleanup', 'remove ended sagas older than an age, directly in the database', [
    'sagas cleanup --older-than 30d',
    'sagas cleanup --older-than 90d --limit 100000 --json',
  ])
    .requiredOption('--older-than <age>', 'minimum time since the last change, such as 12h or 30d', readAge)
    .option('--limit <number>', 'maximum number of sagas to remove', readPositive)
    .action((options: { olderThan: number; limit?: number; json?: true }) => runCleanup(terminal, options))

  addVerb(sagas, 'tables', 'show size and usage of the saga tables, directly from the database', [
    'sagas tables',
    'sagas tables --json',
  ]).action((options: { json?: true }) => showSagaTables(terminal, options))

  const maintain = addVerb(sagas, 'maintain', 'maintain the saga tables, directly in the database', [
    'sagas maintain',
    'sagas maintain --task reindex',
    'sagas maintain --task partitions --drop-older-than 90d --json',
  ])
    .addOption(
      new Option(
        '--task <tasks...>',
        'vacuum and reindex as the owner of the schema, partitions as schema_maintainer',
      )
        .choices(maintenanceTasks)
        .default(['vacuum', 'partitions']),
    )
    .option(
      '--drop-older-than <age>',
      'drop partitions older than this that hold history of no saga',
      readAge,
    )
  maintain.action((options: MaintainOptions) => {
    if (options.dropOlderThan !== undefined && !options.task.includes('partitions')) {
      maintain.error('error: --drop-older-than requires --task partitions')
    }
    return runMaintain(terminal, options)
  })
}

/** Who decides and why; both are recorded in the saga's history. */
function addWords(command: Command): Command {
  return command
    .option('--by <name>', 'name recorded for the decision (default: the shell user)')
    .requiredOption('--why <text>', 'reason, recorded in the history')
}

function readBy(command: Command, { by }: Words, { env }: Terminal): string {
  const name = by ?? (env['USER'] || env['LOGNAME'])
  return name || command.error('error: specify who decides, with --by <name>')
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('Must be JSON.')
  }
}

function sagaRow(saga: Saga): Row {
  const { id, definition, definitionVersion, state, currentStep, totalSteps } = saga
  return [
    ...[id, `${definition}@${definitionVersion}`, formatStatus(state), `${currentStep}/${totalSteps}`],
    ...[formatAgo(saga.createdAt), formatAgo(saga.updatedAt), saga.error?.message ?? '-'],
  ]
}
