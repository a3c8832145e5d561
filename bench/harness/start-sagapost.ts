import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PublisherCommands } from '../children/publish-events.js'
import type { SagapostCommands } from '../children/run-sagapost.js'
import { ENQUEUE_BATCH, type MeasuredSystem } from './measured-system.js'
import type { Bench } from './open-bench.js'
import { type SagapostDatabase, sagapostOpenWork } from './prepare-sagapost.js'
import { sagapostEnvironment } from './sagapost-environment.js'
import { type Child, endChild, startChild } from './start-child.js'

/** What `serve --only` gets, a process each. */
const SEPARATE_PARTS = ['router', 'orchestrator,cleaner', 'worker'] as const

export interface OneProcess extends MeasuredSystem {
  child: Child<SagapostCommands>
  /** Of the API, when it was asked for. */
  url: string | undefined
}

export interface OneProcessOptions {
  types: readonly string[]
  fanOut?: number
  only?: Parameters<SagapostCommands['start']>[0]['only']
  settings?: Record<string, string>
}

/** All parts in one process, which also publishes. */
export async function startOneProcess(
  bench: Bench,
  name: string,
  database: SagapostDatabase,
  { types, fanOut = 1, only, settings }: OneProcessOptions,
): Promise<OneProcess> {
  const { profileFolder } = bench.options
  const child = startChild<SagapostCommands>('run-sagapost.ts', {
    nodeOptions: profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [],
  })
  bench.onStop(child.stop)
  const { url } = await child.call('start', {
    ...sharedOptions(bench, database),
    ...(only && { only }),
    ...(settings && { settings }),
  })
  return {
    name,
    url,
    child,
    processes: [{ name, pid: child.pid }],
    fanOut,
    enqueue: (count) => child.call('enqueue', count, ENQUEUE_BATCH, types),
    database: { ...database, openWork: sagapostOpenWork },
    check: database.check,
    stop: child.stop,
  }
}

/** `sagapost serve --only …`, a process for each part, and a publisher that is none of them. */
export async function startSeparateProcesses(
  bench: Bench,
  name: string,
  database: SagapostDatabase,
  types: readonly string[],
): Promise<MeasuredSystem> {
  const publisher = startChild<PublisherCommands>('publish-events.ts')
  bench.onStop(publisher.stop)
  const servers = await Promise.all(SEPARATE_PARTS.map((parts) => startServer(bench, database, parts)))
  return {
    name,
    processes: [...servers, { name: 'publisher', pid: publisher.pid }],
    fanOut: 1,
    enqueue: (count) => publisher.call('enqueue', database.url, count, ENQUEUE_BATCH, types),
    database: { ...database, openWork: sagapostOpenWork },
    check: database.check,
    async stop() {
      await Promise.all(servers.map(({ stop }) => stop()))
      await publisher.stop()
    },
  }
}

/** `sagapost serve --only …`, as it was built. */
export async function startServer(
  bench: Bench,
  database: SagapostDatabase,
  parts: string,
  file = builtFile('cli/main.js'),
): Promise<{ name: string; pid: number; stop(): Promise<void> }> {
  const authorityFile = join(bench.folder, 'authority.pem')
  await writeFile(authorityFile, bench.receiver.authority)
  const child = fork(file, ['serve', '--only', parts], {
    execArgv: ['--import', import.meta.resolve('../children/stop-with-parent.mjs')],
    env: {
      ...process.env,
      ...sagapostEnvironment(sharedOptions(bench, database)),
      // It says when it serves, and then nothing more at this level but what goes wrong.
      SAGAPOST_LOG_LEVEL: 'warn',
      NODE_EXTRA_CA_CERTS: authorityFile,
    },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const stop = () => endChild(child, () => child.kill('SIGTERM'))
  bench.onStop(stop)
  await Promise.race([
    once(child, 'spawn'),
    once(child, 'exit').then(() => Promise.reject(new Error(`serve --only ${parts} ended`))),
  ])
  return { name: parts, pid: child.pid as number, stop }
}

function sharedOptions(bench: Bench, database: SagapostDatabase) {
  const { url, authority } = bench.receiver
  return { databaseUrl: database.url, url, authority, concurrency: bench.options.concurrency }
}

function builtFile(path: string): string {
  return fileURLToPath(new URL(`../../dist/${path}`, import.meta.url))
}
