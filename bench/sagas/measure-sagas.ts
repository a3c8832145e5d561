import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../harness/open-bench.js'
import { COUNTERS_SETTLE_MS, readDatabaseCounters } from '../harness/read-database-counters.js'
import { cpuSeconds, withChildren } from '../harness/read-usage.js'
import { type Percentiles, percentiles, type Summary, summarise } from '../harness/summarise-samples.js'
import type { SagaSystem } from './start-systems.js'

/** Again and again, until it gets no faster: compilers, caches and statistics take their time. */
const WARM_UP_S = 2
const WARM_UPS_MAX = 5
const WARM_UP_GAIN_MIN = 1.1
const WARM_UP_SAGAS = 100

export interface SagaFigures {
  system: string
  concurrency: number
  sagas: number
  perSecond: Summary
  latencyMs: Percentiles
  /** Per saga. */
  commits: number
  walBytes: Summary
  postgresCpuMs: number | null
  nodeCpuMs: number | null
  hotUpdatesPercent: number
}

/** All systems at one concurrency: a turn of each in every round, the first one another each time. */
export async function measureSagas(
  bench: Bench,
  systems: readonly SagaSystem[],
  concurrency: number,
  { rounds, roundS, sagasMin }: { rounds: number; roundS: number; sagasMin: number },
): Promise<SagaFigures[]> {
  const rates = new Map<SagaSystem, number>()
  for (const system of systems) {
    let count = WARM_UP_SAGAS
    for (let turn = 0; turn < WARM_UPS_MAX; turn++) {
      const { seconds } = await system.child.call('run', count, concurrency)
      await system.pool.query('ANALYZE')
      const gain = count / seconds / (rates.get(system) ?? 0)
      rates.set(system, count / seconds)
      count = Math.max(WARM_UP_SAGAS, Math.ceil((count / seconds) * WARM_UP_S))
      if (gain < WARM_UP_GAIN_MIN) break
    }
  }
  await sleep(COUNTERS_SETTLE_MS)
  const before = await Promise.all(systems.map(({ pool }) => readDatabaseCounters(pool)))
  const turns = systems.map((): Measured[] => [])
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < systems.length; turn++) {
      const place = (round + turn) % systems.length
      const system = systems[place] as SagaSystem
      const count = Math.max(Math.ceil(sagasMin / rounds), Math.ceil((rates.get(system) ?? 0) * roundS))
      const measured = await measureTurn(bench, system, count, concurrency)
      rates.set(system, measured.perSecond)
      turns[place]?.push(measured)
    }
    const shown = systems.map((system) => `${system.name} ${rates.get(system)?.toFixed(0)}/s`)
    bench.say(`${concurrency} at once, round ${round + 1} of ${rounds}: ${shown.join(', ')}`)
  }
  await sleep(COUNTERS_SETTLE_MS)
  return Promise.all(
    systems.map(async ({ name, pool }, place) => {
      const own = turns[place] ?? []
      const sagas = own.reduce((sum, { count }) => sum + count, 0)
      const counters = await readDatabaseCounters(pool)
      const since = (key: keyof typeof counters) => counters[key] - (before[place]?.[key] ?? 0)
      const mean = (of: (turn: Measured) => number | null) =>
        own.some((turn) => of(turn) === null)
          ? null
          : own.reduce((sum, turn) => sum + (of(turn) ?? 0), 0) / sagas
      return {
        system: name,
        concurrency,
        sagas,
        perSecond: summarise(own.map(({ perSecond }) => perSecond)),
        latencyMs: percentiles(own.flatMap(({ latenciesMs }) => latenciesMs)),
        commits: since('commits') / sagas,
        walBytes: summarise(own.map(({ walBytes, count }) => walBytes / count)),
        postgresCpuMs: mean(({ postgresCpuMs }) => postgresCpuMs),
        nodeCpuMs: mean(({ nodeCpuMs }) => nodeCpuMs),
        hotUpdatesPercent: (since('hotUpdates') / since('updates')) * 100,
      }
    }),
  )
}

interface Measured {
  count: number
  perSecond: number
  latenciesMs: readonly number[]
  walBytes: number
  postgresCpuMs: number | null
  nodeCpuMs: number | null
}

async function measureTurn(
  bench: Bench,
  { child, pool }: SagaSystem,
  count: number,
  concurrency: number,
): Promise<Measured> {
  const readings = async () => ({
    wal: await walPosition(pool),
    postgres: cpuSeconds(withChildren(bench.postgres.pid)),
    node: cpuSeconds([child.pid]),
  })
  const before = await readings()
  const { seconds, latenciesMs } = await child.call('run', count, concurrency)
  const after = await readings()
  const since = (key: 'postgres' | 'node') => {
    const [now, then] = [after[key], before[key]]
    return now === null || then === null ? null : (now - then) * 1000
  }
  return {
    count,
    perSecond: count / seconds,
    latenciesMs,
    walBytes: after.wal - before.wal,
    postgresCpuMs: since('postgres'),
    nodeCpuMs: since('node'),
  }
}

/** Of the whole server: one system works at a time, the other only polls. */
async function walPosition(pool: SagaSystem['pool']): Promise<number> {
  const { rows } = await pool.query<{ bytes: number }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS bytes`,
  )
  return rows[0]?.bytes ?? Number.NaN
}
