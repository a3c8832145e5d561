import type { DeliveryStatus } from '../../model/index.js'
import type { DeliveryRow } from './delivery.js'
import type { Ranged } from './find-in-each-range.js'

/**
 * Limit of deliveries, active jobs or waiting results that one request examines. docs/internals/decisions.md has the
 * cost of the longest search.
 */
export const WALKED_MAX = 100_000

/** The rows a statement found, and the last id examined when it stopped early: the next page continues there. */
export interface Found {
  rows: DeliveryRow[]
  examinedTo: string | null
  /** The search reached its limit of active jobs. */
  isCutByJobs?: boolean
}

export type FoundRow = DeliveryRow & { examined_to: string | null; jobs_to?: string | null }

/** For statements that return `examined_to` with every row, and one row without a delivery when nothing matches. */
export function toFound(rows: readonly FoundRow[]): Found {
  const { examined_to: examinedTo = null, jobs_to: jobsTo } = rows[0] ?? {}
  const isCutByJobs = examinedTo !== null && examinedTo === jobsTo
  return { rows: rows.filter(({ id }) => id !== null), examinedTo, isCutByJobs }
}

/**
 * The newest deliveries by the primary key, of which some match. `walked` is read only until the page is full; where it
 * is not, `examined_to` says how far this went.
 */
export const selectWalkedDeliveries = `
  WITH walked AS MATERIALIZED (
    SELECT id, event_id, subscription_id, status, attempt_count, next_attempt_at, final_error_code, requeued_from,
           created_at, updated_at
    FROM sagapost.webhook_delivery_sagas
    WHERE ($1::bigint IS NULL OR id < $1) /* floor of id */ /* range of event_id */
    ORDER BY id DESC LIMIT $5
  ), found AS MATERIALIZED (
    SELECT * FROM walked WHERE status = $2 AND ($3::bigint IS NULL OR subscription_id = $3) LIMIT $4
  )
  SELECT found.*, walk.examined_to
  FROM (
    SELECT CASE WHEN (SELECT count(*) FROM found) < $4
                THEN (SELECT CASE WHEN count(*) = $5 THEN min(id) END FROM walked) END AS examined_to
  ) AS walk LEFT JOIN found ON true
  ORDER BY id DESC`

export interface StatusReading {
  before: string | null
  status: DeliveryStatus
  subscriptionId: string | null
  rowsMax: number
  walkedMax: number
}

export async function walkDeliveries(pool: Ranged, reading: StatusReading): Promise<Found> {
  const { before, status, subscriptionId, rowsMax, walkedMax } = reading
  const values = [before, status, subscriptionId, rowsMax, walkedMax]
  return toFound((await pool.query<FoundRow>(selectWalkedDeliveries, values)).rows)
}
