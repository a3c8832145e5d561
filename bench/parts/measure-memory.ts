import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { memoryMb } from '../harness/read-usage.js'
import { runRound } from '../harness/run-round.js'
import { startOneProcess } from '../harness/start-sagapost.js'
import { summarise } from '../harness/summarise-samples.js'

const TYPES = ['load.a', 'load.b', 'load.c', 'load.d'] as const
const DELIVERIES_PER_ROUND = 5_000
const WARM_UP_SHARE = 1 / 3

export interface MemoryResult {
  minutes: number
  deliveries: number
  /** Resident memory of all parts in one process after each round, in MB, with the minute it was read. */
  samples: { minute: number; mb: number }[]
  /** The last third's median to that of the third before it; what came first was warming up. */
  growthRatio: number | null
}

/** Round after round under full load, for as long as was asked for. */
export async function measureMemory(bench: Bench): Promise<MemoryResult> {
  const { memoryMinutes: minutes } = bench.options
  const endpoints = TYPES.map((eventType) => ({ eventType, path: `/${eventType}` }))
  const database = await prepareSagapost(bench, 'memory', endpoints)
  const system = await startOneProcess(bench, 'Sagapost', database, { types: TYPES })
  const startedAt = performance.now()
  const minute = () => (performance.now() - startedAt) / 60_000
  const samples: MemoryResult['samples'] = []
  let deliveries = 0
  for (let told = 0; minute() < minutes; ) {
    await runRound(bench, system, DELIVERIES_PER_ROUND)
    deliveries += DELIVERIES_PER_ROUND
    const memory = memoryMb(system.child.pid)
    if (memory) samples.push({ minute: minute(), mb: memory.now })
    if (minute() >= told + 1) {
      told = Math.floor(minute())
      bench.say(`memory after ${told} of ${minutes} minutes: ${memory?.now.toFixed(0)} MB`)
    }
  }
  await system.stop()
  await database.check()
  await bench.dropDatabase(database.name)
  const between = (from: number, to: number) =>
    summarise(
      samples.filter((at) => at.minute >= from * minutes && at.minute < to * minutes).map(({ mb }) => mb),
    ).median
  const ratio =
    between(2 * WARM_UP_SHARE, Number.POSITIVE_INFINITY) / between(WARM_UP_SHARE, 2 * WARM_UP_SHARE)
  return { minutes, deliveries, samples, growthRatio: Number.isFinite(ratio) ? ratio : null }
}
