import type { PublisherCommands } from '../children/publish-events.js'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { untilNoOpenWork } from '../harness/run-round.js'
import { startChild } from '../harness/start-child.js'
import { startOneProcess } from '../harness/start-sagapost.js'
import { type Summary, summarise } from '../harness/summarise-samples.js'

const CONNECTIONS = 64
const BATCH = 100
const BATCH_CONNECTIONS = 4
const ROUNDS = 5
const ROUND_S = 3
const CALIBRATION_POSTS = 200
/** Nobody is subscribed to it: storing is measured, not delivering. */
const TYPE = 'ingested'

const ways = [
  { name: 'single', batch: 'single', connections: CONNECTIONS },
  // A client's own batch is committed by itself: of one event, that is one commit for each post.
  { name: 'oneCommitPerPost', batch: 1, connections: CONNECTIONS },
  { name: 'batches', batch: BATCH, connections: BATCH_CONNECTIONS },
] as const

export interface IngestionResult {
  connections: number
  batch: number
  /** Events, acknowledged after their commit. */
  perSecond: Record<(typeof ways)[number]['name'], Summary>
  /** Single posts to one commit for each, round by round. */
  groupCommitGain: Summary
}

export async function measureIngestion(bench: Bench): Promise<IngestionResult> {
  const database = await prepareSagapost(bench, 'ingestion', [])
  const system = await startOneProcess(bench, 'Sagapost', database, {
    types: [TYPE],
    only: ['api', 'router'],
  })
  const publisher = startChild<PublisherCommands>('publish-events.ts')
  bench.onStop(publisher.stop)
  const flood = async ({ batch, connections }: (typeof ways)[number], posts: number) => {
    const ms = await publisher.call('flood', system.url as string, posts, connections, batch, TYPE)
    return (posts * (batch === 'single' ? 1 : batch) * 1000) / ms
  }
  const turns: { way: (typeof ways)[number]; posts: number; rates: number[] }[] = []
  for (const way of ways) {
    await flood(way, CALIBRATION_POSTS)
    await database.pool.query('ANALYZE')
    const perSecond = await flood(way, CALIBRATION_POSTS)
    const perPost = way.batch === 'single' ? 1 : way.batch
    turns.push({ way, posts: Math.max(CONNECTIONS, Math.ceil((perSecond / perPost) * ROUND_S)), rates: [] })
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const { way, posts, rates } of turns) rates.push(await flood(way, posts))
    const shown = turns.map(({ way, rates }) => `${way.name} ${rates.at(-1)?.toFixed(0)}/s`)
    bench.say(`ingestion, round ${round + 1} of ${ROUNDS}: ${shown.join(', ')}`)
  }
  await untilNoOpenWork(system)
  await Promise.all([system.stop(), publisher.stop()])
  await database.check()
  await bench.dropDatabase(database.name)
  const ratesOf = (name: string) => turns.find(({ way }) => way.name === name)?.rates ?? []
  const alone = ratesOf('oneCommitPerPost')
  return {
    connections: CONNECTIONS,
    batch: BATCH,
    perSecond: {
      single: summarise(ratesOf('single')),
      oneCommitPerPost: summarise(alone),
      batches: summarise(ratesOf('batches')),
    },
    groupCommitGain: summarise(ratesOf('single').map((rate, round) => rate / (alone[round] ?? Number.NaN))),
  }
}
