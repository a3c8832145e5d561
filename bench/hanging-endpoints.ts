/**
 * What endpoints that hang do to the others after a restart: the latency of one that has answered before, without and
 * with them, the first delivery of those that are new, and how fast many endpoints are tried for the first time.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { PublisherCommands } from './children/publish-events.js'
import { measureArrivals } from './harness/measure-arrivals.js'
import { openBench } from './harness/open-bench.js'
import { prepareSagapost } from './harness/prepare-sagapost.js'
import { readOptions } from './harness/read-options.js'
import { startChild } from './harness/start-child.js'
import { startOneProcess } from './harness/start-sagapost.js'

const HANGING = 400
/** For each of them. */
const WAITING = 50
const HANGING_BEFORE_RESTART_MS = 20_000
const PER_SECOND = 100
const COUNT = 1_000
const NEW_ENDPOINTS = 5
const NEW_EVERY_MS = 2_000
const COLD_ENDPOINTS = 300

const KNOWN = ['known']
const fresh = Array.from({ length: NEW_ENDPOINTS }, (_, n) => `new.${n}`)
const options = readOptions(['--concurrency', '50'])
if (!options) throw new Error('no options')
const { bench, close } = await openBench(options)
try {
  const database = await prepareSagapost(bench, 'hanging', [
    { eventType: 'known', path: '/known' },
    ...fresh.map((eventType) => ({ eventType, path: `/${eventType}` })),
    ...Array.from({ length: HANGING }, (_, n) => ({ eventType: 'hang', path: `/hang/${n}` })),
    ...Array.from({ length: COLD_ENDPOINTS }, (_, n) => ({ eventType: 'cold', path: `/cold/${n}` })),
  ])
  const publisher = startChild<PublisherCommands>('publish-events.ts')
  bench.onStop(publisher.stop)
  const start = () =>
    startOneProcess(bench, 'Sagapost', database, {
      types: KNOWN,
      only: ['api', 'router', 'orchestrator', 'worker', 'cleaner'],
    })
  const measure = (url: string | undefined) =>
    measureArrivals(bench, publisher, {
      url: url as string,
      types: KNOWN,
      perSecond: PER_SECOND,
      count: COUNT,
    })
  /** From the event to the last of its deliveries, in ms. */
  const untilDelivered = async (eventType: string, deliveries: number): Promise<number> => {
    for (;;) {
      const { rows } = await database.pool.query(
        `SELECT count(*)::int, extract(epoch FROM max(finished_at) - min(created_at))::float * 1000 AS ms
         FROM sagapost.webhook_delivery_jobs AS job JOIN sagapost.events AS event ON event.id = job.event_id
         WHERE event_type = $1 AND status = 'Completed'`,
        [eventType],
      )
      if (rows[0].count === deliveries) return rows[0].ms
      await pause(50)
    }
  }

  let system = await start()
  await measure(system.url)
  await system.stop()
  system = await start()
  const without = await measure(system.url)
  bench.say(`${HANGING} endpoints hang, with ${WAITING} deliveries each`)
  await bench.receiver.call('disturb', true)
  await system.child.call('enqueue', WAITING, WAITING, ['hang'])
  await pause(HANGING_BEFORE_RESTART_MS)
  await system.stop()
  system = await start()
  const withHanging = await measure(system.url)
  const firsts: number[] = []
  for (const eventType of fresh) {
    await system.child.call('enqueue', 1, 1, [eventType])
    firsts.push(await untilDelivered(eventType, 1))
    await pause(NEW_EVERY_MS)
  }
  await system.child.call('enqueue', 1, 1, ['cold'])
  const coldMs = await untilDelivered('cold', COLD_ENDPOINTS)
  await bench.receiver.call('disturb', false)
  await system.stop()
  console.log(JSON.stringify({ without, withHanging }, null, 2))
  console.log(`first delivery of a new endpoint, ms: ${firsts.map(Math.round).join(', ')}`)
  console.log(`${COLD_ENDPOINTS} new endpoints, an event each: ${Math.round(coldMs)} ms`)
} finally {
  await close()
}
