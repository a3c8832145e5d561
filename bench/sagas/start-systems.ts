import type pg from 'pg'
import { migrate } from '../../src/database/index.js'
import type { DbosCommands } from '../children/run-dbos.js'
import type { SagaCommands } from '../children/run-sagas.js'
import type { Bench } from '../harness/open-bench.js'
import { type Child, startChild } from '../harness/start-child.js'

/** In each system. DBOS has 10 by default. */
const CONNECTIONS = 10

export interface SagaSystem {
  name: string
  child: Child<SagaCommands> | Child<DbosCommands>
  pool: pg.Pool
}

export async function startSagapost(bench: Bench, nodeOptions: readonly string[] = []): Promise<SagaSystem> {
  const { url, pool } = await bench.createDatabase('bench_sagas')
  await migrate({ databaseUrl: url })
  const child = startChild<SagaCommands>('run-sagas.ts', { nodeOptions })
  bench.onStop(() => child.stop())
  await child.call('start', { databaseUrl: url, connections: CONNECTIONS })
  return { name: 'Sagapost', child, pool }
}

export async function startDbos(bench: Bench): Promise<SagaSystem> {
  const { url, pool } = await bench.createDatabase('bench_dbos')
  const child = startChild<DbosCommands>('run-dbos.ts')
  bench.onStop(() => child.stop())
  await child.call('start', { databaseUrl: url, connections: CONNECTIONS })
  return { name: 'DBOS', child, pool }
}
