import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Bench } from '../harness/open-bench.js'
import { prepareSagapost } from '../harness/prepare-sagapost.js'
import { cpuSeconds, memoryMb, withChildren } from '../harness/read-usage.js'
import { startServer } from '../harness/start-sagapost.js'
import { type Percentiles, percentiles } from '../harness/summarise-samples.js'

const LARGE = 'large'
const LONE = 'lone'
const LONE_EVERY_MS = 20
/** Often enough for latencies of some ms. */
const LOOK_EVERY_MS = 5
/** What is not routed by then is reported as such. */
const LIMIT_MS = 120_000

export interface LargeFanOutResult {
  events: number
  subscriptions: number
  /** Within the time limit. */
  deliveries: number
  perSecond: number
  postgresCpuMs: number | null
  /** Of the router's process, at its highest. */
  routerMb: number | null
  /** From the commit of single events of another type to their routing, in ms. */
  loneMs: Percentiles
  /** How many of those were not routed within the time limit. */
  loneLeft: number
}

/** What one publish for thousands of subscriptions does to the router, and to events that come meanwhile. */
export async function measureLargeFanOut(
  bench: Bench,
  { prepare = prepareSagapost, start = startServer, name = 'large_fan_out' } = {},
): Promise<LargeFanOutResult> {
  const [events, subscriptions] = bench.options.largeFanOut
  const database = await prepare(bench, name, [])
  const { pool } = database
  await subscribe(pool, LARGE, subscriptions)
  await subscribe(pool, LONE, 1)
  const router = await start(bench, database, 'router')
  // It takes a while to start: its first event is not counted.
  await pool.query(publish, [LONE, 1])
  while ((await pool.query('SELECT FROM sagapost.event_routing_queue')).rowCount) await sleep(LOOK_EVERY_MS)
  const postgresCpu = () => cpuSeconds(withChildren(bench.postgres.pid))
  const cpuBefore = postgresCpu()
  bench.say(`large fan-out: ${events} events to ${subscriptions} subscriptions each`)
  const startedAt = performance.now()
  await pool.query(publish, [LARGE, events])
  const lone = await publishLone(pool, startedAt + LIMIT_MS)
  const seconds = (performance.now() - startedAt) / 1000
  const cpuAfter = postgresCpu()
  const memory = memoryMb(router.pid)
  await router.stop()
  const { rows } = await pool.query<{ deliveries: number }>(
    'SELECT count(*)::int AS deliveries FROM sagapost.webhook_delivery_sagas',
  )
  await database.check(false)
  await bench.dropDatabase(database.name)
  const deliveries = rows[0]?.deliveries ?? 0
  return {
    events,
    subscriptions,
    deliveries,
    perSecond: deliveries / seconds,
    postgresCpuMs:
      cpuBefore === null || cpuAfter === null ? null : ((cpuAfter - cpuBefore) * 1000) / deliveries,
    routerMb: memory?.peak ?? null,
    ...lone,
  }
}

const publish = `
  INSERT INTO sagapost.events (event_type, payload) SELECT $1, '{}' FROM generate_series(1, $2) RETURNING id`

/** They are never called: no worker runs. */
async function subscribe(pool: pg.Pool, type: string, count: number): Promise<void> {
  await pool.query(
    `INSERT INTO sagapost.subscriptions (event_type, callback_url, active, verified)
     SELECT $1, 'https://127.0.0.1/' || n, true, true FROM generate_series(1, $2::int) AS n`,
    [type, count],
  )
  await pool.query('SELECT sagapost.open_routes()')
}

/** One after the other, each at its time, until everything is routed. */
async function publishLone(
  pool: pg.Pool,
  untilMs: number,
): Promise<Pick<LargeFanOutResult, 'loneMs' | 'loneLeft'>> {
  const publishedAtMs = new Map<string, number>()
  const tookMs: number[] = []
  let nextAtMs = performance.now()
  for (let isRouted = false; !isRouted && performance.now() < untilMs; ) {
    if (performance.now() >= nextAtMs) {
      nextAtMs += LONE_EVERY_MS
      const { rows } = await pool.query<{ id: string }>(publish, [LONE, 1])
      publishedAtMs.set(String(rows[0]?.id), performance.now())
    }
    const { rows } = await pool.query<{ event_id: string }>(
      'SELECT event_id FROM sagapost.webhook_delivery_sagas WHERE event_id = ANY ($1::bigint[]) AND requeued_from IS NULL',
      [[...publishedAtMs.keys()]],
    )
    for (const { event_id } of rows) {
      tookMs.push(performance.now() - (publishedAtMs.get(event_id) ?? Number.NaN))
      publishedAtMs.delete(event_id)
    }
    const left = await pool.query('SELECT FROM sagapost.event_routing_queue WHERE event_type = $1 LIMIT 1', [
      LARGE,
    ])
    isRouted = left.rowCount === 0
    await sleep(LOOK_EVERY_MS)
  }
  return { loneMs: percentiles(tookMs), loneLeft: publishedAtMs.size }
}
