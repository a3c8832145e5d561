import type pg from 'pg'
import { inEachSpan, inTransaction, readEventSpans } from '../../database/index.js'
import { within } from '../../loop/index.js'

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

// What waits at every stage, in one snapshot. Each stage reads an index that holds little but what it counts. `since` is
// from when the stage could have gone on; where rows wait on purpose (jobs of a paused endpoint), or are under way, it
// is null. Here event_routing_queue_pkey, all of set_aside_events, delivery_result_queue_pkey; of general sagas
// idx_saga_runnable and idx_saga_awaiting_operator.
export const readBacklog = `
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

// In each span of partitions: idx_saga_status, idx_saga_status_retry (or idx_saga_failing), idx_job_status_lease (or
// uniq_job_saga_active, which holds the same jobs).
export const readBacklogOfSpan = `
  SELECT 'first_jobs' AS stage, count(*)::int AS count, min(since) AS since, sagapost.now() AS now
  FROM (SELECT created_at AS since FROM sagapost.webhook_delivery_sagas
        WHERE event_id >= $2 AND event_id < $3 AND status = 'Pending' LIMIT $1) AS waiting
  UNION ALL
  SELECT 'retries_waiting', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.webhook_delivery_sagas
        WHERE event_id >= $2 AND event_id < $3
          AND status = 'PendingRetry' AND next_attempt_at > sagapost.now() LIMIT $1) AS waiting
  UNION ALL
  SELECT 'retries_due', count(*)::int, min(since), sagapost.now()
  FROM (SELECT next_attempt_at AS since FROM sagapost.webhook_delivery_sagas
        WHERE event_id >= $2 AND event_id < $3 AND status = 'PendingRetry' AND next_attempt_at <= sagapost.now()
        ORDER BY next_attempt_at LIMIT $1) AS waiting
  UNION ALL
  SELECT 'claims', count(*)::int, min(since), sagapost.now()
  FROM (SELECT lease_until AS since FROM sagapost.webhook_delivery_jobs
        WHERE event_id >= $2 AND event_id < $3
          AND status = 'Pending' AND lease_until <= sagapost.now() AND subscription_id <> ALL (ARRAY(
          SELECT subscription_id FROM sagapost.subscription_breakers WHERE paused_until > sagapost.now()))
        ORDER BY lease_until LIMIT $1) AS waiting
  UNION ALL
  SELECT 'claims_paused', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.webhook_delivery_jobs
        WHERE event_id >= $2 AND event_id < $3
          AND status = 'Pending' AND lease_until < sagapost.held_until(0) AND subscription_id = ANY (ARRAY(
          SELECT subscription_id FROM sagapost.subscription_breakers WHERE paused_until > sagapost.now()))
        LIMIT $1) AS waiting
  UNION ALL
  SELECT 'claims_held', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.webhook_delivery_jobs
        WHERE event_id >= $2 AND event_id < $3
          AND status = 'Pending' AND lease_until >= sagapost.held_until(0) LIMIT $1) AS waiting
  UNION ALL
  SELECT 'leased', count(*)::int, NULL, sagapost.now()
  FROM (SELECT FROM sagapost.webhook_delivery_jobs
        WHERE event_id >= $2 AND event_id < $3
          AND status = 'Leased' AND lease_until >= sagapost.now() LIMIT $1) AS waiting
  UNION ALL
  SELECT 'leases_expired', count(*)::int, min(since), sagapost.now()
  FROM (SELECT lease_until AS since FROM sagapost.webhook_delivery_jobs
        WHERE event_id >= $2 AND event_id < $3
          AND status = 'Leased' AND lease_until < sagapost.now() ORDER BY lease_until LIMIT $1) AS waiting`

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

function addUp(stage: StageBacklog['stage'], rows: readonly Row[], countMax: number): StageBacklog {
  const parts = rows.filter((row) => row.stage === stage)
  const count = parts.reduce((sum, part) => sum + part.count, 0)
  const agesMs = parts.flatMap(({ since, now }) => (since ? [now.getTime() - since.getTime()] : []))
  return {
    stage,
    count: Math.min(count, countMax),
    oldestAgeS: ageless.has(stage) ? null : Math.max(0, ...agesMs) / 1000,
  }
}

export interface BacklogOptions {
  countMax?: number
  cacheMs?: number
  timeLimitMs?: number
}

/** Reads the backlogs under the role saga_readonly_role, on every scrape. */
export function createBacklogCollector(
  pool: pg.Pool,
  { countMax = BACKLOG_COUNT_MAX, cacheMs = CACHE_MS, timeLimitMs = TIME_LIMIT_MS }: BacklogOptions = {},
): BacklogCollector {
  let underWay: Promise<readonly StageBacklog[] | null> | undefined
  let known: { stages: readonly StageBacklog[] | null; atMs: number } | undefined

  async function read(): Promise<readonly StageBacklog[]> {
    const endsAtMs = performance.now() + timeLimitMs
    const rows = await inTransaction(pool, async (client) => {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
      await client.query(limitTime, [`${timeLimitMs}ms`])
      const found = (await client.query<Row>(readBacklog, [countMax])).rows
      await inEachSpan(client, await readEventSpans(client), async ({ from, to }) => {
        if (performance.now() > endsAtMs) throw new Error('the backlog could not be read in time')
        found.push(...(await client.query<Row>(readBacklogOfSpan, [countMax, from, to])).rows)
      })
      return found
    })
    return backlogStages.map((stage) => addUp(stage, rows, countMax))
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
