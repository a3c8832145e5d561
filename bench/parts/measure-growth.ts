import { fillPartitions } from '../harness/fill-partitions.js'
import { interleaveRounds } from '../harness/interleave-rounds.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { runRound } from '../harness/run-round.js'
import { startOneProcess } from '../harness/start-sagapost.js'
import {
  PERCENTILE_SAMPLES_MIN,
  type Percentiles,
  percentiles,
  type Summary,
  summarise,
} from '../harness/summarise-samples.js'

/** A claim takes a whole batch: rounds go on until there are enough of them for a percentile, but not for ever. */
const EXTRA_ROUNDS_MAX = 60
const EXTRA_DELIVERIES = 5_000
const TYPES = ['load.a', 'load.b', 'load.c', 'load.d'] as const

export interface GrowthResult {
  sagas: number
  fillS: number
  perSecond: { empty: Summary; grown: Summary }
  /** Round by round. */
  throughputRatio: Summary
  /** How long a worker waits for a claim, in ms. */
  claimMs: { empty: Percentiles; grown: Percentiles }
  claimP99Ratio: number | null
}

/** The same load on empty tables and on tables that hold millions of completed deliveries, taking turns. */
export async function measureGrowth(bench: Bench): Promise<GrowthResult> {
  const { grownSagas } = bench.options
  const endpoints = TYPES.map((eventType) => ({ eventType, path: `/${eventType}` }))
  const databases = {
    empty: await prepareSagapost(bench, 'empty', endpoints),
    grown: await prepareSagapost(bench, 'grown', endpoints),
  }
  const startedAt = performance.now()
  await fillPartitions(databases.grown.pool, grownSagas, (filled) =>
    bench.say(`growth: filled ${filled} of ${grownSagas} completed deliveries`),
  )
  const fillS = (performance.now() - startedAt) / 1000
  const systems = {
    empty: await startOneProcess(bench, 'empty', databases.empty, { types: TYPES }),
    grown: await startOneProcess(bench, 'grown', databases.grown, { types: TYPES }),
  }
  const [empty = [], grown = []] = (await interleaveRounds(bench, [systems.empty, systems.grown])).map(
    ({ rounds }) => rounds.map(({ perSecond }) => perSecond),
  )
  const claimTimes = { empty: [] as number[], grown: [] as number[] }
  const takeClaimTimes = async () => {
    for (const each of ['empty', 'grown'] as const) {
      claimTimes[each].push(...(await systems[each].child.call('takeClaimTimes')))
    }
    return Math.min(claimTimes.empty.length, claimTimes.grown.length) >= PERCENTILE_SAMPLES_MIN
  }
  for (let extra = 0; !(await takeClaimTimes()) && extra < EXTRA_ROUNDS_MAX; extra++) {
    await runRound(bench, systems.empty, EXTRA_DELIVERIES)
    await runRound(bench, systems.grown, EXTRA_DELIVERIES)
  }
  const claimMs = { empty: percentiles(claimTimes.empty), grown: percentiles(claimTimes.grown) }
  for (const each of ['empty', 'grown'] as const) {
    await systems[each].stop()
    bench.say(`growth: checking the invariants of ${each}`)
    await databases[each].check()
    await bench.dropDatabase(databases[each].name)
  }
  return {
    sagas: grownSagas,
    fillS,
    perSecond: { empty: summarise(empty), grown: summarise(grown) },
    throughputRatio: summarise(grown.map((rate, round) => rate / (empty[round] ?? Number.NaN))),
    claimMs,
    claimP99Ratio: claimMs.empty.p99 && claimMs.grown.p99 ? claimMs.grown.p99 / claimMs.empty.p99 : null,
  }
}
