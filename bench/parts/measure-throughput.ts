import { setTimeout as sleep } from 'node:timers/promises'
import { interleaveRounds, type SystemRounds } from '../harness/interleave-rounds.js'
import type { MeasuredSystem } from '../harness/measured-system.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { probeMemory } from '../harness/probe-memory.js'
import { COUNTERS_SETTLE_MS, readDatabaseCounters } from '../harness/read-database-counters.js'
import { memoryMb } from '../harness/read-usage.js'
import { type Round, runRound } from '../harness/run-round.js'
import {
  startBare,
  startGraphileWorker,
  startPgBoss,
  startVacuumedGraphileWorker,
} from '../harness/start-others.js'
import { startOneProcess, startSeparateProcesses } from '../harness/start-sagapost.js'
import { type Summary, summarise } from '../harness/summarise-samples.js'

/** One delivery for each event; several endpoints, so that a worker's bound per endpoint is not the limit. */
const TYPES = ['load.a', 'load.b', 'load.c', 'load.d'] as const
const endpoints = TYPES.map((eventType) => ({ eventType, path: `/${eventType}` }))

export const ratioNames = {
  bareLimit: 'bare limit',
  graphileWorker: 'graphile-worker',
  graphileWorkerVacuumed: 'graphile-worker, vacuumed',
  pgBoss: 'pg-boss',
  pgBossTwoWorkers: 'pg-boss, 2 workers',
} as const

interface SystemResult {
  name: string
  perSecond: Summary
  /** Per delivery. */
  postgresCpuMs: Summary | null
  nodeCpuMs: Summary | null
  receiverCpuMs: Summary | null
  walBytes: Summary | null
  /** Per delivery, in one more round; null in quick runs and without a database. */
  commits: number | null
  buffers: number | null
  /** Of all updates of rows. */
  hotShare: number | null
  memoryMb: { process: string; now: number; peak: number }[]
}

export interface ThroughputResult {
  systems: SystemResult[]
  /** Of one process, and of separate ones, to the others: the median of the ratios within each round. */
  ratios: Record<'oneProcess' | 'separateProcesses', Record<keyof typeof ratioNames, Summary>>
  /** Once in each round: what the machine gives beside its cores. */
  memoryReadNs: Summary
}

export async function measureThroughput(bench: Bench): Promise<ThroughputResult> {
  const one = await prepareSagapost(bench, 'one_process', endpoints)
  const separate = await prepareSagapost(bench, 'separate_processes', endpoints)
  const memoryReadNs: number[] = []
  const bare: MeasuredSystem = {
    ...(await startBare(bench, ratioNames.bareLimit)),
    prepareTurn: async () => void memoryReadNs.push(probeMemory()),
  }
  const systems = [
    bare,
    await startOneProcess(bench, 'Sagapost', one, { types: TYPES }),
    await startSeparateProcesses(bench, 'Sagapost, separate', separate, TYPES),
    await startGraphileWorker(bench, ratioNames.graphileWorker),
    await startVacuumedGraphileWorker(bench, ratioNames.graphileWorkerVacuumed),
    await startPgBoss(bench, ratioNames.pgBoss, 1),
    await startPgBoss(bench, ratioNames.pgBossTwoWorkers, 2),
  ]
  const measured = await interleaveRounds(bench, systems)
  const memory = new Map(systems.map((system) => [system, readMemory(system)]))
  const results: SystemResult[] = []
  if (!bench.options.quick) await sleep(COUNTERS_SETTLE_MS)
  for (const { system, rounds } of measured) {
    const counted = bench.options.quick ? noCounts : await countOneRound(bench, system, rounds)
    await system.stop()
    await system.check()
    results.push({ ...summariseRounds(system.name, rounds), ...counted, memoryMb: memory.get(system) ?? [] })
  }
  for (const { database } of systems) if (database) await bench.dropDatabase(database.name)
  bench.say('throughput measured; every invariant holds')
  return {
    systems: results,
    ratios: {
      oneProcess: ratiosOf(measured, 'Sagapost'),
      separateProcesses: ratiosOf(measured, 'Sagapost, separate'),
    },
    memoryReadNs: summarise(memoryReadNs),
  }
}

type Counted = Pick<SystemResult, 'commits' | 'buffers' | 'hotShare'>
const noCounts: Counted = { commits: null, buffers: null, hotShare: null }

/** One more round, and the end of the system, with which its backends hand in what they counted. */
async function countOneRound(
  bench: Bench,
  system: MeasuredSystem,
  rounds: readonly Round[],
): Promise<Counted> {
  if (!system.database) return noCounts
  const { pool } = system.database
  const deliveries = rounds[0]?.deliveries ?? 0
  const before = await readDatabaseCounters(pool)
  await runRound(bench, system, deliveries / system.fanOut)
  await system.stop()
  const after = await readDatabaseCounters(pool)
  const updates = after.updates - before.updates
  return {
    commits: (after.commits - before.commits) / deliveries,
    buffers: (after.buffers - before.buffers) / deliveries,
    hotShare: updates > 0 ? (after.hotUpdates - before.hotUpdates) / updates : null,
  }
}

function summariseRounds(
  name: string,
  rounds: readonly Round[],
): Omit<SystemResult, keyof Counted | 'memoryMb'> {
  const over = (field: 'postgresCpuMs' | 'nodeCpuMs' | 'receiverCpuMs' | 'walBytes') => {
    const values = rounds.map((round) => round[field]).filter((value) => value !== null)
    return values.length > 0 ? summarise(values) : null
  }
  return {
    name,
    perSecond: summarise(rounds.map(({ perSecond }) => perSecond)),
    postgresCpuMs: over('postgresCpuMs'),
    nodeCpuMs: over('nodeCpuMs'),
    receiverCpuMs: over('receiverCpuMs'),
    walBytes: over('walBytes'),
  }
}

function readMemory({ processes }: MeasuredSystem): SystemResult['memoryMb'] {
  return processes.flatMap(({ name, pid }) => {
    const memory = memoryMb(pid)
    return memory ? [{ process: name, ...memory }] : []
  })
}

function ratiosOf(measured: readonly SystemRounds[], name: string): Record<keyof typeof ratioNames, Summary> {
  const rates = (of: string) =>
    measured.find(({ system }) => system.name === of)?.rounds.map(({ perSecond }) => perSecond) ?? []
  const own = rates(name)
  const to = (other: string) =>
    summarise(rates(other).map((rate, round) => (own[round] ?? Number.NaN) / rate))
  return {
    bareLimit: to(ratioNames.bareLimit),
    graphileWorker: to(ratioNames.graphileWorker),
    graphileWorkerVacuumed: to(ratioNames.graphileWorkerVacuumed),
    pgBoss: to(ratioNames.pgBoss),
    pgBossTwoWorkers: to(ratioNames.pgBossTwoWorkers),
  }
}
