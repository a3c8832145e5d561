import type { PublisherCommands } from '../children/publish-events.js'
import { measureArrivals } from '../harness/measure-arrivals.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { untilNoOpenWork } from '../harness/run-round.js'
import { startChild } from '../harness/start-child.js'
import { startOneProcess } from '../harness/start-sagapost.js'
import { medianPercentiles, type Percentiles, summarise } from '../harness/summarise-samples.js'

const TYPES = ['load.a', 'load.b', 'load.c', 'load.d'] as const
const HANGING_TYPE = 'hang'
const WAITING = 20_000
const ENQUEUE_BATCH = 500
const PER_SECOND = 100
const COUNT = 1_500
const WARM_UP = 500
/** Without and with it, in turns: one stall of the machine, of a fifth of a second, is the p99 of one turn. */
const TURNS = 3
/** When the endpoint answers again, all that waits for it comes to its end. */
const DRAIN_MS_MAX = 240_000

export interface IsolationResult {
  perSecond: number
  waiting: number
  /** Of the other endpoints, in ms: of each figure the median over the turns. */
  without: Percentiles
  withHanging: Percentiles
  /** The median of the ratios within each turn, and each of them. */
  p99Ratio: number | null
  p99Ratios: number[]
}

/** What one endpoint that hangs until its time-out, with a backlog of its own, does to the others' latency. */
export async function measureIsolation(bench: Bench): Promise<IsolationResult> {
  const database = await prepareSagapost(bench, 'isolation', [
    ...TYPES.map((eventType) => ({ eventType, path: `/${eventType}` })),
    { eventType: HANGING_TYPE, path: '/hang' },
  ])
  const system = await startOneProcess(bench, 'Sagapost', database, {
    types: TYPES,
    only: ['api', 'router', 'orchestrator', 'worker', 'cleaner'],
    // What timed out while it hung is tried again soon, so that the end of the part can be waited for.
    settings: {
      SAGAPOST_RETRY_BASE_DELAY: '1s',
      SAGAPOST_RETRY_MAX_DELAY: '5s',
      SAGAPOST_RETRY_LIMIT: '100',
    },
  })
  const publisher = startChild<PublisherCommands>('publish-events.ts')
  bench.onStop(publisher.stop)
  const measure = (count: number) =>
    measureArrivals(bench, publisher, {
      url: system.url as string,
      types: TYPES,
      perSecond: PER_SECOND,
      count,
    })
  await measure(WARM_UP)
  await database.pool.query('ANALYZE')
  const turns: { without: Percentiles; withHanging: Percentiles }[] = []
  for (let turn = 1; turn <= TURNS; turn++) {
    bench.say(
      `isolation, turn ${turn} of ${TURNS}: ${COUNT} events at ${PER_SECOND}/s without a hanging endpoint`,
    )
    const without = await measure(COUNT)
    await bench.receiver.call('hang', true)
    await system.child.call('enqueue', WAITING, ENQUEUE_BATCH, [HANGING_TYPE])
    await untilRouted(database.pool)
    bench.say(`isolation: the same with one, and ${WAITING} deliveries that wait for it`)
    turns.push({ without, withHanging: await measure(COUNT) })
    await bench.receiver.call('hang', false)
    bench.say('isolation: the endpoint answers again; its backlog drains')
    await untilNoOpenWork(system, DRAIN_MS_MAX)
  }
  await Promise.all([system.stop(), publisher.stop()])
  await database.check()
  await bench.dropDatabase(database.name)
  const p99Ratios = turns.flatMap(({ without, withHanging }) =>
    without.p99 && withHanging.p99 ? [withHanging.p99 / without.p99] : [],
  )
  return {
    perSecond: PER_SECOND,
    waiting: WAITING,
    without: medianPercentiles(turns.map(({ without }) => without)),
    withHanging: medianPercentiles(turns.map(({ withHanging }) => withHanging)),
    p99Ratio: p99Ratios.length > 0 ? summarise(p99Ratios).median : null,
    p99Ratios,
  }
}

/** Until the backlog stands as jobs, or the first latencies would be those of making it. */
async function untilRouted(pool: {
  query(sql: string): Promise<{ rows: { open: boolean }[] }>
}): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(
      `SELECT EXISTS (SELECT FROM sagapost.event_routing_queue)
           OR EXISTS (SELECT FROM sagapost.webhook_delivery_sagas WHERE status = 'Pending') AS open`,
    )
    if (rows[0]?.open === false) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
