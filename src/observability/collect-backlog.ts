import type pg from 'pg'
import { inTransaction, type ReadRange, readRanges, withinRange } from '../database/index.js'
import { within } from '../loop/index.js'

/** A count stops here, so that a scrape costs no more when a backlog has grown out of all proportion. */
export const BACKLOG_COUNT_MAX = 100_000
/** Several scrapers, or an eager one, do not ask the database more often. */
const CACHE_MS = 5_000
/** Well below Prometheus' 10 s for a whole scrape. */
const TIME_LIMIT_MS = 3_000

export const backlogStages = [
  'routing',
  'set_aside',
  'first_jobs',
  'retries_waiting',
  'retries_due',
  'claims',
  'claims_paused',
  'claims_held',
  'leased',
  'leases_expired',
  'results',
  'sagas_due',
  'sagas_open',
  'sagas_stuck',
] as const

export interface StageBacklog {
  stage: (typeof backlogStages)[number]
  count: number
  /** Null at stages where waiting is as it should be. 0 when nothing waits. */
  oldestAgeS: number | null
}

export interface BacklogCollector {
  /** Null when the database did not answer in time. It never throws. */
  collect(): Promise<readonly StageBacklog[] | null>
}

// What waits at every stage, in one snapshot and one round trip where there are few partitions. Each stage reads an index
// that holds little but what it counts: idx_saga_status, idx_saga_status_retry (or idx_saga_failing), idx_job_status_lease (or
// uniq_job_saga_active, which holds the same jobs). `since` is from when the stage could have gone on; where rows wait on
// purpose (jobs of a paused endpoint), or are under way, it is null.
const readDeliveries = `
  SELECT 'first_jobs' AS stage, count(*)::int AS count, min(since) AS since, sagapost.now() AS now
  FROM (SELECT created_at AS since FROM sagapost.webhook_delivery_sagas WHERE status = 'Pending' /* range of event_id */ LIMIT $1) AS waiting
  UNION ALL
  SELECT 'retries_waiting', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.webhook_delivery_sagas
        WHERE status = 'PendingRetry' AND next_attempt_at > sagapost.now() /* range of event_id */ LIMIT $1) AS waiting
  UNION ALL
  SELECT 'retries_due', count(*)::int, min(since), sagapost.now()
  FROM (SELECT next_attempt_at AS since FROM sagapost.webhook_delivery_sagas
        WHERE status = 'PendingRetry' AND next_attempt_at <= sagapost.now() /* range of event_id */
        ORDER BY next_attempt_at LIMIT $1) AS waiting
  UNION ALL
  SELECT 'claims', count(*)::int, min(since), sagapost.now()
  FROM (SELECT lease_until AS since FROM sagapost.webhook_delivery_jobs
        WHERE status = 'Pending' AND lease_until <= sagapost.now() AND subscription_id <> ALL (ARRAY(
          SELECT subscription_id FROM sagapost.subscription_breakers WHERE paused_until > sagapost.now()))
          /* range of event_id */
        ORDER BY lease_until LIMIT $1) AS waiting
  UNION ALL
  SELECT 'claims_paused', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.webhook_delivery_jobs
        WHERE status = 'Pending' AND lease_until < sagapost.held_until(0) AND subscription_id = ANY (ARRAY(
          SELECT subscription_id FROM sagapost.subscription_breakers WHERE paused_until > sagapost.now()))
          /* range of event_id */
        LIMIT $1) AS waiting
  UNION ALL
  SELECT 'claims_held', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.webhook_delivery_jobs
        WHERE status = 'Pending' AND lease_until >= sagapost.held_until(0) /* range of event_id */ LIMIT $1) AS waiting
  UNION ALL
  SELECT 'leased', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.webhook_delivery_jobs
        WHERE status = 'Leased' AND lease_until >= sagapost.now() /* range of event_id */ LIMIT $1) AS waiting
  UNION ALL
  SELECT 'leases_expired', count(*)::int, min(since), sagapost.now()
  FROM (SELECT lease_until AS since FROM sagapost.webhook_delivery_jobs
        WHERE status = 'Leased' AND lease_until < sagapost.now() /* range of event_id */ ORDER BY lease_until LIMIT $1) AS waiting`

// By event_routing_queue_pkey, all of set_aside_events, and delivery_result_queue_pkey; of general sagas by idx_saga_runnable and
// idx_saga_awaiting_operator.
const readQueues = `
  SELECT 'routing' AS stage, least(coalesce(sum(entries), 0), $1)::int AS count, min(since) AS since, sagapost.now() AS now
  FROM (SELECT enqueued_at AS since, cardinality(event_ids) - coalesce(routed_events, 0) AS entries
        FROM sagapost.event_routing_queue ORDER BY id LIMIT $1) AS waiting
  UNION ALL
  SELECT 'set_aside', count(*)::int, min(since), sagapost.now()
  FROM (SELECT set_aside_at AS since FROM sagapost.set_aside_events LIMIT $1) AS waiting
  UNION ALL
  SELECT 'results', least(coalesce(sum(entries), 0), $1)::int, min(since), sagapost.now()
  FROM (SELECT enqueued_at AS since, cardinality(job_ids) AS entries
        FROM sagapost.delivery_result_queue ORDER BY id LIMIT $1) AS waiting
  UNION ALL
  SELECT 'sagas_due', count(*)::int, min(since), sagapost.now()
  FROM (SELECT wake_at AS since FROM sagapost.saga_instances
        WHERE state IN (0, 1, 2, 4) AND wake_at <= sagapost.now() LIMIT $1) AS waiting
  UNION ALL
  SELECT 'sagas_open', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.saga_instances
        WHERE state IN (0, 1, 2, 4) AND wake_at > sagapost.now() LIMIT $1) AS waiting
  UNION ALL
  SELECT 'sagas_stuck', count(*)::int, min(since), sagapost.now()
  FROM (SELECT updated_at AS since FROM sagapost.saga_instances
        WHERE awaiting_operator ORDER BY updated_at LIMIT $1) AS waiting`

/** All stages over all partitions. */
export const readBacklog = `${readQueues} UNION ALL ${readDeliveries}`

// The server gives up by itself: a client that only stops listening would leave the statement running.
const limitTime = `SELECT set_config('statement_timeout', $1, true)`

interface Row {
  stage: StageBacklog['stage']
  count: number
  since: Date | null
  now: Date
}

/** Stages whose rows wait on purpose or are under way: their age says nothing. */
const ageless: ReadonlySet<string> = new Set([
  ...['retries_waiting', 'claims_paused', 'claims_held', 'leased', 'sagas_open'],
])

function leftOf(endsAtMs: number): number {
  const leftMs = Math.floor(endsAtMs - performance.now())
  if (leftMs < 1) throw new Error('the backlog could not be read in time')
  return leftMs
}

/** One stage of all ranges. */
function sumUp(rows: readonly Row[], countMax: number): StageBacklog[] {
  const [row] = rows
  if (!row) return []
  const ages = rows.map(({ since, now }) => (since ? Math.max(0, now.getTime() - since.getTime()) / 1000 : 0))
  return [
    {
      stage: row.stage,
      count: Math.min(
        countMax,
        rows.reduce((sum, { count }) => sum + count, 0),
      ),
      oldestAgeS: ageless.has(row.stage) ? null : Math.max(...ages),
    },
  ]
}

export interface BacklogOptions {
  countMax?: number
  cacheMs?: number
  timeLimitMs?: number
}

/** Reads the backlogs under the role saga_readonly_role, whenever somebody scrapes. */
export function createBacklogCollector(
  pool: pg.Pool,
  { countMax = BACKLOG_COUNT_MAX, cacheMs = CACHE_MS, timeLimitMs = TIME_LIMIT_MS }: BacklogOptions = {},
): BacklogCollector {
  let underWay: Promise<readonly StageBacklog[] | null> | undefined
  let known: { stages: readonly StageBacklog[] | null; atMs: number } | undefined

  async function read(): Promise<readonly StageBacklog[]> {
    const endsAtMs = performance.now() + timeLimitMs
    /** One transaction for each range: it locks the partitions of no other. */
    const ask = (choose: (client: pg.PoolClient) => Promise<string>) =>
      inTransaction(pool, async (client) => {
        await client.query(limitTime, [`${leftOf(endsAtMs)}ms`])
        return (await client.query<Row>(await choose(client), [countMax])).rows
      })
    let ranges: readonly ReadRange[] = []
    const rows = await ask(async (client) => {
      ranges = await readRanges(pool, client)
      return ranges.length === 1 ? readBacklog : readQueues
    })
    if (ranges.length > 1) {
      for (const range of ranges) rows.push(...(await ask(async () => withinRange(readDeliveries, range))))
    }
    return backlogStages.flatMap((stage) =>
      sumUp(
        rows.filter((row) => row.stage === stage),
        countMax,
      ),
    )
  }

  /** One at a time: a database in trouble is not asked again before it has answered. */
  function readOnce(): Promise<readonly StageBacklog[] | null> {
    underWay ??= read()
      .catch(() => null)
      .then((stages) => {
        known = { stages, atMs: performance.now() }
        underWay = undefined
        return stages
      })
    return underWay
  }

  return {
    async collect() {
      if (known && performance.now() - known.atMs < cacheMs) return known.stages
      // Opening a connection takes longer than a scrape may wait.
      return within(timeLimitMs, readOnce(), () => null)
    },
  }
}
