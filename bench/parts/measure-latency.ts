import type { PublisherCommands } from '../children/publish-events.js'
import { measureArrivals } from '../harness/measure-arrivals.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { runRound, untilNoOpenWork } from '../harness/run-round.js'
import { startChild } from '../harness/start-child.js'
import { startOneProcess } from '../harness/start-sagapost.js'
import type { Percentiles } from '../harness/summarise-samples.js'

const TYPES = ['load.a', 'load.b', 'load.c', 'load.d'] as const
const SAMPLES = 1_000
/** More where they come quickly. */
const MEASURE_S_MIN = 12
const WARM_UP = 500

export interface LatencyResult extends Percentiles {
  perSecond: number
}

/** From the acknowledgement of a post to /v1/events to the request's arrival at the receiver, all parts in one process. */
export async function measureLatency(bench: Bench): Promise<LatencyResult[]> {
  const database = await prepareSagapost(
    bench,
    'latency',
    TYPES.map((eventType) => ({ eventType, path: `/${eventType}` })),
  )
  const system = await startOneProcess(bench, 'Sagapost', database, {
    types: TYPES,
    only: ['api', 'router', 'orchestrator', 'worker', 'cleaner'],
  })
  const publisher = startChild<PublisherCommands>('publish-events.ts')
  bench.onStop(publisher.stop)
  const url = system.url as string
  await runRound(bench, system, WARM_UP)
  await database.pool.query('ANALYZE')
  await measureArrivals(bench, publisher, { url, types: TYPES, perSecond: WARM_UP, count: WARM_UP })

  const results: LatencyResult[] = []
  for (const perSecond of bench.options.rates) {
    const count = Math.max(SAMPLES, Math.ceil(perSecond * MEASURE_S_MIN))
    bench.say(`latency at ${perSecond}/s: ${count} events, about ${Math.ceil(count / perSecond)} s`)
    const result = await measureArrivals(bench, publisher, { url, types: TYPES, perSecond, count })
    results.push({ perSecond, ...result })
    bench.say(`latency at ${perSecond}/s: p50 ${result.p50?.toFixed(1)} ms, p99 ${result.p99?.toFixed(1)} ms`)
  }
  await untilNoOpenWork(system)
  await Promise.all([system.stop(), publisher.stop()])
  await database.check()
  await bench.dropDatabase(database.name)
  return results
}
