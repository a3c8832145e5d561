import type { PublisherCommands } from '../children/publish-events.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { cpuSeconds, withChildren } from '../harness/read-usage.js'
import { untilNoOpenWork } from '../harness/run-round.js'
import { startChild } from '../harness/start-child.js'
import { startOneProcess } from '../harness/start-sagapost.js'
import { type Summary, summarise } from '../harness/summarise-samples.js'

const CONNECTIONS = 64
const BATCH = 100
const BATCH_CONNECTIONS = 4
const ROUNDS = 5
const ROUND_S = 3
/** Again and again, until it gets no faster: the first thousand posts are those of a server that is being compiled. */
const WARM_UP_POSTS = 200
const WARM_UP_S = 1
const WARM_UPS_MAX = 5
const WARM_UP_GAIN_MIN = 1.15
/** It has no subscribers: storing is measured, not delivering. */
const TYPE = 'ingested'

const ways = [
  { name: 'single', batch: 'single', connections: CONNECTIONS, keyed: false },
  // A client's own batch is committed by itself: of one event, that is one commit for each post.
  { name: 'oneCommitPerPost', batch: 1, connections: CONNECTIONS, keyed: false },
  // An idempotency key of its own for each event, as events from outside should have.
  { name: 'singleKeyed', batch: 'single', connections: CONNECTIONS, keyed: true },
  { name: 'oneCommitPerPostKeyed', batch: 1, connections: CONNECTIONS, keyed: true },
  { name: 'batches', batch: BATCH, connections: BATCH_CONNECTIONS, keyed: false },
] as const

type Way = (typeof ways)[number]

/** For each event, in ms of CPU; null where the machine does not tell it. */
interface IngestionCost {
  client: number | null
  server: number | null
  postgres: number | null
}

interface Flood {
  perSecond: number
  cost: IngestionCost
}

export interface IngestionResult {
  connections: number
  batch: number
  /** Events, acknowledged after their commit. */
  perSecond: Record<Way['name'], Summary>
  /** Medians. */
  cpuMs: Record<Way['name'], IngestionCost>
  /** Single posts to one commit for each, round by round. */
  groupCommitGain: Summary
  /** The same, of events with an idempotency key. */
  groupCommitGainKeyed: Summary
}

export async function measureIngestion(bench: Bench): Promise<IngestionResult> {
  const database = await prepareSagapost(bench, 'ingestion', [])
  const system = await startOneProcess(bench, 'Sagapost', database, {
    types: [TYPE],
    only: ['api', 'router'],
  })
  const publisher = startChild<PublisherCommands>('publish-events.ts')
  bench.onStop(publisher.stop)
  const usage = () => ({
    client: cpuSeconds([publisher.pid]),
    server: cpuSeconds(system.processes.map(({ pid }) => pid)),
    postgres: cpuSeconds(withChildren(bench.postgres.pid)),
  })
  const flood = async ({ batch, connections, keyed }: Way, posts: number): Promise<Flood> => {
    const before = usage()
    const ms = await publisher.call('flood', system.url as string, posts, connections, batch, TYPE, keyed)
    const after = usage()
    const events = posts * (batch === 'single' ? 1 : batch)
    const each = (of: keyof IngestionCost) =>
      after[of] === null || before[of] === null ? null : ((after[of] - before[of]) * 1000) / events
    return {
      perSecond: (events * 1000) / ms,
      cost: { client: each('client'), server: each('server'), postgres: each('postgres') },
    }
  }
  const turns: { way: Way; posts: number; floods: Flood[] }[] = []
  for (const way of ways) {
    const perPost = way.batch === 'single' ? 1 : way.batch
    const postsIn = (seconds: number, perSecond: number) =>
      Math.max(CONNECTIONS, Math.ceil((perSecond / perPost) * seconds))
    let { perSecond } = await flood(way, WARM_UP_POSTS)
    for (let turn = 0; turn < WARM_UPS_MAX; turn++) {
      const warmer = await flood(way, postsIn(WARM_UP_S, perSecond))
      const gain = warmer.perSecond / perSecond
      perSecond = warmer.perSecond
      if (gain < WARM_UP_GAIN_MIN) break
    }
    await database.pool.query('ANALYZE')
    turns.push({ way, posts: postsIn(ROUND_S, perSecond), floods: [] })
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const { way, posts, floods } of turns) {
      // What one way leaves to be routed is not paid for by the next.
      await untilNoOpenWork(system)
      floods.push(await flood(way, posts))
    }
    const shown = turns.map(({ way, floods }) => `${way.name} ${floods.at(-1)?.perSecond.toFixed(0)}/s`)
    bench.say(`ingestion, round ${round + 1} of ${ROUNDS}: ${shown.join(', ')}`)
  }
  await untilNoOpenWork(system)
  await Promise.all([system.stop(), publisher.stop()])
  await database.check()
  await bench.dropDatabase(database.name)
  const floodsOf = (name: Way['name']) => turns.find(({ way }) => way.name === name)?.floods ?? []
  const ratesOf = (name: Way['name']) => floodsOf(name).map(({ perSecond }) => perSecond)
  const costOf = (name: Way['name']): IngestionCost => {
    const over = (of: keyof IngestionCost) => {
      const values = floodsOf(name)
        .map(({ cost }) => cost[of])
        .filter((value) => value !== null)
      return values.length > 0 ? summarise(values).median : null
    }
    return { client: over('client'), server: over('server'), postgres: over('postgres') }
  }
  const gain = (together: Way['name'], alone: Way['name']) => {
    const rates = ratesOf(alone)
    return summarise(ratesOf(together).map((rate, round) => rate / (rates[round] ?? Number.NaN)))
  }
  const each = <Value>(of: (name: Way['name']) => Value) =>
    Object.fromEntries(ways.map(({ name }) => [name, of(name)])) as Record<Way['name'], Value>
  return {
    connections: CONNECTIONS,
    batch: BATCH,
    perSecond: each((name) => summarise(ratesOf(name))),
    cpuMs: each(costOf),
    groupCommitGain: gain('single', 'oneCommitPerPost'),
    groupCommitGainKeyed: gain('singleKeyed', 'oneCommitPerPostKeyed'),
  }
}
