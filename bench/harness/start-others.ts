import type { BareCommands } from '../children/post-bare.js'
import type { GraphileWorkerCommands } from '../children/run-graphile-worker.js'
import type { PgBossCommands } from '../children/run-pg-boss.js'
import { ENQUEUE_BATCH, type MeasuredSystem } from './measured-system.js'
import type { Bench } from './open-bench.js'
import { startChild } from './start-child.js'

/** Completed jobs are deleted. */
const graphileOpenWork = 'SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS open'
/** By the index that its own fetch uses, and the one of active jobs. */
const pgBossOpenWork = `SELECT EXISTS (SELECT FROM pgboss.job WHERE name = 'post' AND state < 'completed') AS open`

/** The limit: posts with no database at all. */
export async function startBare(bench: Bench, name: string): Promise<MeasuredSystem> {
  const child = startChild<BareCommands>('post-bare.ts')
  bench.onStop(child.stop)
  const { url, authority } = bench.receiver
  await child.call('start', { url: `${url}/bare`, authority, concurrency: bench.options.concurrency })
  return {
    name,
    processes: [{ name, pid: child.pid }],
    fanOut: 1,
    enqueue: (count) => child.call('enqueue', count),
    database: null,
    check: async () => {},
    stop: child.stop,
  }
}

export function startGraphileWorker(bench: Bench, name: string): Promise<MeasuredSystem> {
  return startJobQueue(bench, name, 'run-graphile-worker.ts', graphileOpenWork)
}

/**
 * The same, with a VACUUM before each turn. It deletes what is done, and each look for jobs goes through the dead rows
 * since the last vacuum: PostgreSQL's own comes once a minute, somewhere in these turns.
 */
export async function startVacuumedGraphileWorker(bench: Bench, name: string): Promise<MeasuredSystem> {
  const system = await startGraphileWorker(bench, name)
  return { ...system, prepareTurn: async () => system.database?.pool.query('VACUUM (ANALYZE)') }
}

export function startPgBoss(bench: Bench, name: string, workers: number): Promise<MeasuredSystem> {
  return startJobQueue(bench, name, 'run-pg-boss.ts', pgBossOpenWork, { workers })
}

async function startJobQueue(
  bench: Bench,
  name: string,
  file: string,
  openWork: string,
  more: { workers?: number } = {},
): Promise<MeasuredSystem> {
  const databaseName = name.replaceAll(/\W+/g, '_')
  const { url: databaseUrl, pool } = await bench.createDatabase(databaseName)
  const child = startChild<GraphileWorkerCommands | PgBossCommands>(file)
  bench.onStop(child.stop)
  const { url, authority } = bench.receiver
  await child.call('start', {
    databaseUrl,
    url: `${url}/${databaseName}`,
    authority,
    concurrency: bench.options.concurrency,
    ...more,
  })
  return {
    name,
    processes: [{ name, pid: child.pid }],
    fanOut: 1,
    enqueue: (count) => child.call('enqueue', count, ENQUEUE_BATCH),
    database: { name: databaseName, url: databaseUrl, pool, openWork },
    check: async () => {},
    stop: child.stop,
  }
}
