import { setTimeout as sleep } from 'node:timers/promises'
import type { PublisherCommands } from '../children/publish-events.js'
import { measureArrivals } from '../harness/measure-arrivals.js'
import { ENQUEUE_BATCH } from '../harness/measured-system.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost, type SagapostDatabase } from '../harness/prepare-sagapost.js'
import { clockMs } from '../harness/read-clock.js'
import { cpuSeconds, withChildren } from '../harness/read-usage.js'
import { within } from '../harness/run-round.js'
import { startChild } from '../harness/start-child.js'
import { type OneProcess, startOneProcess } from '../harness/start-sagapost.js'
import { type Percentiles, summarise } from '../harness/summarise-samples.js'

const TYPE = 'load.a'
const WIDTH = 1_000_000
/** As a new installation has them. */
const FEW = 3
const WARM_UP = 500
/** One at a time, for the latencies. */
const LONE = 1_000
const LONE_PER_S = 20
const ROUND_EVENTS = 10_000
const ROUNDS = 3
const SETTLE_MS = 10_000
const IDLE_MS = 30_000
const DELIVERED_MS_MAX = 120_000

export interface PartitionsResult {
  /** Ranges of event ids. */
  ranges: number
  /** Everything in one process with nothing to do: PostgreSQL, of one core. */
  idlePercent: number | null
  loneMs: Percentiles
  /** The median of some rounds. */
  perSecond: number
  /** Of all invariants of the doctor. */
  invariantsMs: number
}

/** The same with a new installation's partitions, and with those of hundreds of millions of events. */
export async function measurePartitions(bench: Bench): Promise<PartitionsResult[]> {
  const results: PartitionsResult[] = []
  for (const ranges of [FEW, bench.options.ranges]) results.push(await measureWith(bench, ranges))
  return results
}

async function measureWith(bench: Bench, ranges: number): Promise<PartitionsResult> {
  const database = await prepareSagapost(bench, `partitions_${ranges}`, [
    { eventType: TYPE, path: `/${TYPE}` },
  ])
  await addRanges(database, ranges)
  const system = await startOneProcess(bench, 'Sagapost', database, {
    types: [TYPE],
    only: ['api', 'router', 'orchestrator', 'worker', 'cleaner', 'sagas'],
  })
  const publisher = startChild<PublisherCommands>('publish-events.ts')
  bench.onStop(publisher.stop)
  await deliver(bench, system, WARM_UP)
  await database.pool.query('ANALYZE')
  bench.say(`${ranges} ranges: idle for ${(SETTLE_MS + IDLE_MS) / 1000} s`)
  await sleep(SETTLE_MS)
  const postgresSeconds = () => cpuSeconds(withChildren(bench.postgres.pid))
  const [before, startedAt] = [postgresSeconds(), performance.now()]
  await sleep(IDLE_MS)
  const [after, seconds] = [postgresSeconds(), (performance.now() - startedAt) / 1000]
  const idlePercent = before === null || after === null ? null : ((after - before) / seconds) * 100
  bench.say(`${ranges} ranges: ${LONE} events, one after the other`)
  const url = system.url as string
  const loneMs = await measureArrivals(bench, publisher, {
    ...{ url, types: [TYPE], perSecond: LONE_PER_S, count: LONE },
  })
  const rates = []
  for (let round = 0; round < ROUNDS; round++) rates.push(await deliver(bench, system, ROUND_EVENTS))
  await Promise.all([system.stop(), publisher.stop()])
  const checkedAt = performance.now()
  await database.check(false)
  const invariantsMs = performance.now() - checkedAt
  await bench.dropDatabase(database.name)
  const perSecond = summarise(rates).median
  bench.say(
    `${ranges} ranges: ${perSecond.toFixed(0)} deliveries/s, invariants in ${invariantsMs.toFixed(0)} ms`,
  )
  return { ranges, idlePercent, loneMs, perSecond, invariantsMs }
}

/** So many, with the events in the last but two. */
async function addRanges({ pool }: SagapostDatabase, ranges: number): Promise<void> {
  for (let index = FEW; index < ranges; index++) {
    for (const table of ['events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters']) {
      const bounds = [index * WIDTH, (index + 1) * WIDTH]
      await pool.query('SELECT sagapost.make_partition($1, $2, $3)', [table, ...bounds])
    }
  }
  await pool.query(`SELECT setval('sagapost.events_id_seq', $1)`, [(ranges - FEW) * WIDTH + 1])
}

/** To the receiver: to ask the tables for open work takes longer with more partitions. */
async function deliver(bench: Bench, system: OneProcess, events: number): Promise<number> {
  await bench.receiver.call('countAgain')
  const startedAt = clockMs()
  await within(
    DELIVERED_MS_MAX,
    `${events} events were not delivered`,
    Promise.all([
      system.child.call('enqueue', events, ENQUEUE_BATCH, [TYPE]),
      bench.receiver.call('countReached', events),
    ]),
  )
  return (events * 1000) / (clockMs() - startedAt)
}
