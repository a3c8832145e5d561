import type { PublisherCommands } from '../children/publish-events.js'
import { measureArrivals } from '../harness/measure-arrivals.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { untilNoOpenWork } from '../harness/run-round.js'
import { startChild } from '../harness/start-child.js'
import { startOneProcess } from '../harness/start-sagapost.js'
import { medianPercentiles, type Percentiles, summarise } from '../harness/summarise-samples.js'

const TYPES = ['load.a', 'load.b', 'load.c', 'load.d'] as const
/** What stands beside the four endpoints that are measured: its type, its path on the receiver, and its deliveries. */
const neighbours = {
  /** Answers nothing until its time-out. Its backlog stands as jobs when the others are measured. */
  hanging: { path: '/hang', waiting: 20_000, isRoutedFirst: true },
  /** Answers 503 at once. Its events are published while the others are measured, as of the next one. */
  failing: { path: '/fail', waiting: 200_000, isRoutedFirst: false },
  /** Answers 200 at once. */
  bursting: { path: '/burst', waiting: 100_000, isRoutedFirst: false },
} as const
export type Neighbour = keyof typeof neighbours
export const neighbourNames = Object.keys(neighbours) as Neighbour[]

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
  neighbours: BesideNeighbour[]
}

interface BesideNeighbour {
  neighbour: Neighbour
  waiting: number
  /** Of the other endpoints, in ms: of each figure the median over the turns. */
  without: Percentiles
  beside: Percentiles
  /** The median of the ratios within each turn, and each of them. */
  p50Ratio: number | null
  p99Ratio: number | null
  p99Ratios: number[]
}

interface Turn {
  without: Percentiles
  beside: Percentiles
}

/** What one endpoint with a backlog of its own, which hangs, fails or gets a burst, does to the others' latency. */
export async function measureIsolation(bench: Bench): Promise<IsolationResult> {
  const results: BesideNeighbour[] = []
  for (const neighbour of bench.options.neighbours) results.push(await measureBeside(bench, neighbour))
  return { perSecond: PER_SECOND, neighbours: results }
}

async function measureBeside(bench: Bench, neighbour: Neighbour): Promise<BesideNeighbour> {
  const { path, waiting, isRoutedFirst } = neighbours[neighbour]
  const database = await prepareSagapost(bench, `isolation_${neighbour}`, [
    ...TYPES.map((eventType) => ({ eventType, path: `/${eventType}` })),
    { eventType: neighbour, path },
  ])
  const system = await startOneProcess(bench, 'Sagapost', database, {
    types: TYPES,
    only: ['api', 'router', 'orchestrator', 'worker', 'cleaner'],
    // What failed meanwhile is tried again soon, so that the end of the part can be waited for.
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
  const turns: Turn[] = []
  for (let turn = 1; turn <= TURNS; turn++) {
    bench.say(`isolation, turn ${turn} of ${TURNS}: ${COUNT} events at ${PER_SECOND}/s alone`)
    const without = await measure(COUNT)
    await bench.receiver.call('disturb', true)
    const enqueued = system.child.call('enqueue', waiting, ENQUEUE_BATCH, [neighbour])
    if (isRoutedFirst) {
      await enqueued
      await untilRouted(database.pool)
    }
    bench.say(`isolation: the same beside a ${neighbour} endpoint with ${waiting} deliveries`)
    turns.push({ without, beside: await measure(COUNT) })
    await enqueued
    await bench.receiver.call('disturb', false)
    bench.say('isolation: its backlog drains')
    await untilNoOpenWork(system, DRAIN_MS_MAX)
  }
  await Promise.all([system.stop(), publisher.stop()])
  await database.check()
  await bench.dropDatabase(database.name)
  const p99Ratios = ratiosOf(turns, 'p99')
  return {
    neighbour,
    waiting,
    without: medianPercentiles(turns.map(({ without }) => without)),
    beside: medianPercentiles(turns.map(({ beside }) => beside)),
    p50Ratio: medianOf(ratiosOf(turns, 'p50')),
    p99Ratio: medianOf(p99Ratios),
    p99Ratios,
  }
}

function ratiosOf(turns: readonly Turn[], figure: 'p50' | 'p99'): number[] {
  return turns.flatMap(({ without, beside }) => {
    const [alone, disturbed] = [without[figure], beside[figure]]
    return alone && disturbed ? [disturbed / alone] : []
  })
}

const medianOf = (ratios: readonly number[]) => (ratios.length > 0 ? summarise(ratios).median : null)

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
