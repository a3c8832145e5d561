import { Command, CommanderError } from 'commander'
import { packageVersion } from '../package-version.js'
import {
  addCompletionCommand,
  addDeadLettersCommands,
  addDeliveriesCommands,
  addEventsCommands,
  addKeysCommands,
  addPublishCommand,
  addSagasCommands,
  addSubscriptionsCommands,
  addTrySubscriptionCommands,
} from './commands/index.js'
import { explainFailure } from './explain-failure.js'
import { makeVisible } from './format-table.js'
import type { ListenArguments } from './read-listen-options.js'
import type { DoctorArguments } from './run-doctor.js'
import { complain, type Terminal } from './terminal.js'
import { toJson } from './to-json.js'

const EXIT_OK = 0
const EXIT_FAILED = 1
const EXIT_USAGE = 2

/** Runs one command and returns the exit code. Expected failures print one line to stderr; bugs print a stack trace. */
export async function run(args: string[], terminal: Terminal): Promise<number> {
  const program = buildProgram(terminal)
  try {
    await program.parseAsync(args, { from: 'user' })
    return Number(terminal.exitCode ?? EXIT_OK)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE // already printed
    const failure = explainFailure(error)
    if (!failure) throw error
    if (args.includes('--json')) complain(terminal, toJson({ error: failure }))
    else complain(terminal, `sagapost: ${makeVisible(failure.detail)} [${failure.code}]`)
    return EXIT_FAILED
  }
}

/**
 * The command tree, which docs/reference/command-line.md is compared with. The server's modules are loaded on demand:
 * loading them would cost short commands 0.7 s of CPU instead of 0.2 s.
 */
export function buildProgram(terminal: Terminal): Command {
  const { env, stdout, stderr } = terminal
  const program = new Command('sagapost')
    .description('Webhook delivery and sagas on PostgreSQL')
    .version(packageVersion())
    .exitOverride()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .showHelpAfterError('(sagapost --help lists the commands)')

  program
    .command('dev')
    .description('run everything in one process, on an embedded PostgreSQL unless DATABASE_URL is set')
    .option('--no-demo', 'start without the demo receiver and event')
    .addHelpText('after', '\nExamples:\n  $ sagapost dev\n  $ sagapost dev --no-demo')
    .action(async (options: { demo: boolean }) => (await import('./run-dev.js')).runDev(env, options))

  program
    .command('serve')
    .description('run all or some parts on a migrated database')
    .option('--only <parts>', 'api, router, orchestrator, worker, cleaner, sagas; comma-separated')
    .addHelpText('after', '\nExamples:\n  $ sagapost serve\n  $ sagapost serve --only worker,cleaner')
    .action(async (options: { only?: string }) => (await import('./run-serve.js')).runServe(env, options))

  program
    .command('migrate')
    .description('migrate the schema of DATABASE_URL, or of the embedded PostgreSQL, to the latest version')
    .option('--status', 'show every version and when it was applied; change nothing')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ sagapost migrate\n  $ sagapost migrate --status --json')
    .action(async (options: { status?: true; json?: true }) =>
      (await import('./run-migrate.js')).runMigrate(terminal, options),
    )

  program
    .command('listen')
    .description('receive deliveries over HTTPS, verify and print them: a receiver for development')
    .option('--port <port>', 'port to listen on; 0 takes a free one', '8443')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option(
      '--secret <secret>',
      'verify with this whsec_… or whpk_…; repeatable',
      (secret: string, before: readonly string[]) => [...before, secret],
      [],
    )
    .option('--status <status>', 'answer deliveries with this status')
    .option('--delay <duration>', 'delay each answer, such as 500ms or 2s')
    .option('--fail-first <times>', 'fail the first requests of each webhook-id, then answer 200')
    .option('--json', 'print JSON lines')
    .addHelpText(
      'after',
      '\nExamples:\n  $ sagapost listen --secret whsec_…\n  $ sagapost listen --fail-first 3 --status 503',
    )
    .action(async (options: ListenArguments) => (await import('./run-listen.js')).runListen(env, options))

  program
    .command('doctor')
    .description(
      'report problems of a live system and how to fix them; --schema and --invariants check everything',
    )
    .option('--schema', 'compare the schema with this release, and print the statements that fix it')
    .option(
      '--invariants',
      'check every rule on the whole database, in one snapshot, without blocking writers',
    )
    .option('--settled', 'as --invariants, and check that no work is left')
    .option(
      '--hashes <file>',
      'as --invariants, and check that rows final at the last check have not changed',
    )
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nExits with 1 when a check fails or a rule is broken.\n\nExamples:\n  $ sagapost doctor\n  $ sagapost doctor --schema\n  $ sagapost doctor --invariants --hashes final-rows.txt',
    )
    .action(async (options: DoctorArguments) =>
      (await import('./run-doctor.js')).runDoctor(terminal, options),
    )

  program
    .command('bench [options...]')
    .description('compare throughput with the bare limit and two job queues; only in the repository')
    .helpOption(false)
    .allowUnknownOption()
    .addHelpText(
      'after',
      '\nExamples:\n  $ sagapost bench --quick --json results.json\n  $ sagapost bench --help',
    )
    .action(async (options: string[]) => (await import('./run-bench.js')).runBench(options))

  addPublishCommand(program, terminal)
  addEventsCommands(program, terminal)
  const subscriptions = program
    .command('subscriptions')
    .description('manage subscriptions and check their callbacks')
  addSubscriptionsCommands(subscriptions, terminal)
  addTrySubscriptionCommands(subscriptions, terminal)
  addDeliveriesCommands(program, terminal)
  addDeadLettersCommands(program, terminal)
  addSagasCommands(program, terminal)
  addKeysCommands(program, terminal)
  addCompletionCommand(program, terminal)
  return program
}
