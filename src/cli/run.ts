import { Command, CommanderError } from 'commander'
import { SagapostError } from '../errors/index.js'
import { packageVersion } from '../package-version/index.js'
import type { ListenArguments } from './read-listen-options.js'
import { runBench } from './run-bench.js'
import { runDev } from './run-dev.js'
import { runListen } from './run-listen.js'
import { runMigrate } from './run-migrate.js'
import { runServe } from './run-serve.js'

const EXIT_OK = 0
const EXIT_FAILED = 1
const EXIT_USAGE = 2

type Environment = Readonly<Record<string, string | undefined>>

/** Runs one command and returns the exit code. Expected failures are one line on stderr; a bug keeps its stack. */
export async function run(args: string[], env: Environment): Promise<number> {
  const program = buildProgram(env)
  try {
    await program.parseAsync(args, { from: 'user' })
    // Set by a command that passes on another program's.
    return typeof process.exitCode === 'number' ? process.exitCode : EXIT_OK
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT_OK : EXIT_USAGE // already printed
    if (!(error instanceof SagapostError)) throw error
    if (args.includes('--json')) {
      console.error(JSON.stringify({ error: { code: error.code, detail: error.message } }))
    } else {
      console.error(`sagapost: ${error.message} [${error.code}]`)
    }
    return EXIT_FAILED
  }
}

function buildProgram(env: Environment): Command {
  const program = new Command('sagapost')
    .description('Webhook delivery and sagas on PostgreSQL')
    .version(packageVersion())
    .exitOverride()
    .showHelpAfterError('(sagapost --help lists the commands)')

  program
    .command('dev')
    .description('run everything in one process, on an embedded PostgreSQL unless DATABASE_URL is set')
    .option('--no-demo', 'no demo receiver, no demo event')
    .action((options: { demo: boolean }) => runDev(env, options))

  program
    .command('serve')
    .description('run the parts on a migrated database, all of them or some')
    .option('--only <parts>', 'api, router, orchestrator, worker, cleaner; several with commas')
    .addHelpText('after', '\nExamples:\n  $ sagapost serve\n  $ sagapost serve --only worker,cleaner')
    .action((options: { only?: string }) => runServe(env, options))

  program
    .command('migrate')
    .description('bring the schema of DATABASE_URL, or of the embedded PostgreSQL, to the newest version')
    .option('--status', 'show every version and when it was applied; change nothing')
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExamples:\n  $ sagapost migrate\n  $ sagapost migrate --status --json')
    .action((options: { status?: true; json?: true }) => runMigrate(env, options))

  program
    .command('listen')
    .description('receive deliveries over HTTPS, verify and print them: a receiver for development')
    .option('--port <port>', 'port to listen on; 0 takes a free one', '8443')
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option(
      '--secret <secret>',
      'verify with this whsec_… or whpk_…; may be given several times',
      (secret: string, before: readonly string[]) => [...before, secret],
      [],
    )
    .option('--status <status>', 'answer deliveries with this status')
    .option('--delay <duration>', 'answer deliveries after this time, as in 500ms, 2s')
    .option('--fail-first <times>', 'fail so many requests of each webhook-id, then answer 200')
    .option('--json', 'print JSON lines')
    .addHelpText(
      'after',
      '\nExamples:\n  $ sagapost listen --secret whsec_…\n  $ sagapost listen --fail-first 3 --status 503',
    )
    .action((options: ListenArguments) => runListen(env, options))

  program
    .command('bench [options...]')
    .description('measure speed beside the bare limit and two job queues; in the repository only')
    .helpOption(false)
    .allowUnknownOption()
    .addHelpText(
      'after',
      '\nExamples:\n  $ sagapost bench --quick --json results.json\n  $ sagapost bench --help',
    )
    .action((options: string[]) => runBench(options))

  return program
}
