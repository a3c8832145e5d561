import type { PublisherCommands } from '../children/publish-events.js'
import type { Bench } from './open-bench.js'
import { within } from './run-round.js'
import type { Child } from './start-child.js'
import { type Percentiles, percentiles } from './summarise-samples.js'

/** The last arrivals may be late by this much. */
const LATE_MS_MAX = 60_000

/** Single events over HTTP at a rate; how long after its acknowledgement each arrived at the receiver, in ms. */
export async function measureArrivals(
  bench: Bench,
  publisher: Child<PublisherCommands>,
  to: { url: string; types: readonly string[]; perSecond: number; count: number },
): Promise<Percentiles> {
  const { receiver } = bench
  await receiver.call('countAgain')
  await receiver.call('noteArrivals')
  const acknowledged = await publisher.call('postAtRate', to.url, to.perSecond, to.count, to.types)
  await within(LATE_MS_MAX, 'Not every event arrived', receiver.call('countReached', to.count))
  const arrivals = new Map(await receiver.call('takeArrivals'))
  return percentiles(
    acknowledged.map(([sequence, atMs]) =>
      // It may arrive before the publisher has read its acknowledgement.
      Math.max(0, (arrivals.get(sequence) ?? Number.POSITIVE_INFINITY) - atMs),
    ),
  )
}
