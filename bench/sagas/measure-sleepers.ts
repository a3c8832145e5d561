/** What sleeping sagas cost while they sleep, and how late they wake. */
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { createRolePool, migrate } from '../../src/database/index.js'
import { createCoordinator, createPostgresStorage, saga, sendSignal } from '../../src/sagas/index.js'
import type { Bench } from '../harness/open-bench.js'
import { cpuSeconds, withChildren } from '../harness/read-usage.js'
import { percentiles } from '../harness/summarise-samples.js'

const STARTS_AT_ONCE = 500
const IDLE_MS = 20_000
const WOKEN = 1_000
const WAKE_SPREAD_MS = 10_000

export async function measureSleepers(bench: Bench, count: number): Promise<void> {
  const { url, pool } = await bench.createDatabase('bench_sleepers')
  await migrate({ databaseUrl: url })
  const app = createRolePool({ databaseUrl: url, role: 'saga_app_role', connectionsMax: 6 })
  bench.onStop(() => app.end())
  const lateMs: number[] = []
  const nap = saga<{ at: string }>('nap')
    .sleep('rest', { until: ({ input }) => input.at })
    .step('rise', { run: ({ input }) => void lateMs.push(Date.now() - Date.parse(input.at)) })
  const heardMs: number[] = []
  const sentAt = new Map<string, number>()
  const listen = saga<{ key: string }>('listen')
    .waitFor('news', { signal: 'news', key: ({ input }) => input.key })
    .step('hear', { run: ({ input }) => void heardMs.push(performance.now() - (sentAt.get(input.key) ?? 0)) })
  const storage = createPostgresStorage({ pool: app })
  const coordinator = createCoordinator({
    storage,
    definitions: [nap, listen],
    onError: (error) => bench.say(error.message),
  })
  bench.onStop(() => coordinator.stop())

  const idle = async (what: string) => {
    await pool.query('CHECKPOINT')
    await pause(3_000)
    const postgresS = () => cpuSeconds(withChildren(bench.postgres.pid)) ?? Number.NaN
    const before = { node: process.cpuUsage(), postgres: postgresS() }
    await pause(IDLE_MS)
    const { user, system } = process.cpuUsage(before.node)
    const percent = (s: number) => ((s / (IDLE_MS / 1_000)) * 100).toFixed(2)
    const postgres = postgresS() - before.postgres
    console.log(
      `idle, ${what}: node ${percent((user + system) / 1e6)} %, PostgreSQL ${percent(postgres)} % of a core`,
    )
  }

  await idle('no sagas')
  const startedAt = performance.now()
  const at = new Date(Date.now() + 86_400_000).toISOString()
  for (let made = 0; made < count; made += STARTS_AT_ONCE) {
    await Promise.all(
      Array.from({ length: Math.min(STARTS_AT_ONCE, count - made) }, () => coordinator.start(nap, { at })),
    )
  }
  while (coordinator.running > 0 || (await countAwake(pool)) > 0) await pause(100)
  const seconds = (performance.now() - startedAt) / 1_000
  console.log(
    `${count} sagas fell asleep in ${seconds.toFixed(1)} s (${(count / seconds).toFixed(0)} a second)`,
  )
  await pool.query('VACUUM ANALYZE sagapost.saga_instances, sagapost.saga_steps, sagapost.saga_events')
  await idle(`${count} asleep`)

  const begin = Date.now() + 3_000
  const keys = Array.from({ length: WOKEN }, (_, n) => `key-${n}`)
  await Promise.all([
    ...keys.map((_, n) =>
      coordinator.start(nap, { at: new Date(begin + (n / WOKEN) * WAKE_SPREAD_MS).toISOString() }),
    ),
    ...keys.map((key) => coordinator.start(listen, { key })),
  ])
  while (lateMs.length < WOKEN) await pause(50)
  tell('woken by time, ms late', lateMs)
  for (const key of keys) {
    sentAt.set(key, performance.now())
    await sendSignal(storage, { name: 'news', key })
    coordinator.wake()
    await pause(5)
  }
  while (heardMs.length < WOKEN) await pause(50)
  tell('woken by a signal, ms from its call to the step', heardMs)
}

function tell(what: string, samples: readonly number[]): void {
  const { p50, p99 } = percentiles(samples)
  console.log(`${what}: p50 ${p50?.toFixed(1)}, p99 ${p99?.toFixed(1)}`)
}

async function countAwake(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ awake: number }>(
    'SELECT count(*)::int AS awake FROM sagapost.saga_instances WHERE lease_owner IS NOT NULL OR state = 0',
  )
  return rows[0]?.awake ?? 0
}
