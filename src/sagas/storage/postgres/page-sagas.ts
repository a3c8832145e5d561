import type pg from 'pg'
import { encodeCursor, type Page, readTimeCursor, rowsToRead, toPage } from '../../../database/index.js'
import { SagapostError } from '../../../errors/index.js'
import { sagaMachine } from '../../../model/index.js'
import type { SagaInstance, SagaListFilter } from '../../saga-view.js'
import { type InstanceRow, isSagaId, toInstance } from './view-rows.js'

/** Up to this many matching rows are read and sorted as a whole. */
const FEW_ROWS_MAX = 1_000
/** With more, a page scans at most this many of the newest; it may be short, and its cursor continues. */
const WALKED_ROWS_MAX = 10_000

/**
 * When few sagas have what the filter asks for: all of them, by idx_saga_trace_id, idx_saga_awaiting_operator,
 * idx_saga_definition_state or idx_saga_definition_id, chosen by ORDER BY: docs/internals/hot-statements.md#filters-as-arrays.
 */
export const selectFewSagas = `
  WITH few AS MATERIALIZED (
    SELECT id, definition_id, definition_version, idempotency_key, name, description, state, current_step, total_steps,
           error, awaiting_operator, created_at, updated_at, started_at, completed_at, timed_out_at, deadline_at, wake_at,
           lease_owner, lease_until, cancel_requested_at, cancel_requested_by, cancel_reason, trace_id, span_id,
           parent_id, pivoted_at
    FROM sagapost.saga_instances
    WHERE ($3::text IS NULL OR trace_id = ANY (ARRAY[$3]))
      AND ($4::boolean IS NULL OR awaiting_operator)
      AND ($5::text IS NULL OR definition_id = ANY (ARRAY[$5]))
      AND ($6::int IS NULL OR state = ANY (ARRAY[$6]))
    ORDER BY CASE WHEN $3 IS NOT NULL THEN trace_id END,
             CASE WHEN $3 IS NULL AND $4 IS NOT NULL THEN updated_at END,
             CASE WHEN $3 IS NULL AND $4 IS NULL THEN definition_id END,
             CASE WHEN $3 IS NULL AND $4 IS NULL AND $6 IS NOT NULL THEN state END
    LIMIT $8
  )
  SELECT few.*, (extract(epoch FROM created_at) * 1000000)::bigint AS at_us, found.count AS found
  FROM (SELECT count(*)::int AS count FROM few) AS found
  LEFT JOIN few ON $1::bigint IS NULL
    OR (created_at, id) < (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::text)
  ORDER BY created_at DESC, id DESC
  LIMIT $7`

/**
 * Newest first by time, then id, by idx_saga_created_at, which serves queries that bound the time, or, for a state,
 * idx_saga_state_created; the inner LIMIT bounds how far a walk goes past what a filter throws away. An index with every
 * filter's order would be one more to write with each of a saga's moves.
 */
export const walkSagas = `
  SELECT *, (extract(epoch FROM created_at) * 1000000)::bigint AS at_us
  FROM (
    SELECT id, definition_id, definition_version, idempotency_key, name, description, state, current_step, total_steps,
           error, awaiting_operator, created_at, updated_at, started_at, completed_at, timed_out_at, deadline_at, wake_at,
           lease_owner, lease_until, cancel_requested_at, cancel_requested_by, cancel_reason, trace_id, span_id,
           parent_id, pivoted_at
    FROM sagapost.saga_instances
    WHERE created_at > '-infinity' AND ($1::bigint IS NULL
           OR (created_at, id) < (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::text))
      AND ($6::int IS NULL OR state = ANY (ARRAY[$6]))
    ORDER BY CASE WHEN $6 IS NOT NULL THEN state END DESC, created_at DESC, id DESC
    LIMIT $8
  ) AS walked
  WHERE ($3::text IS NULL OR trace_id = $3)
    AND ($4::boolean IS NULL OR awaiting_operator)
    AND ($5::text IS NULL OR definition_id = $5)
  ORDER BY CASE WHEN $6 IS NOT NULL THEN state END DESC, created_at DESC, id DESC
  LIMIT $7`

/** Where such a walk ended. */
export const selectWalkEnd = `
  SELECT id, (extract(epoch FROM created_at) * 1000000)::bigint AS at_us
  FROM sagapost.saga_instances
  WHERE created_at > '-infinity' AND ($1::bigint IS NULL
         OR (created_at, id) < (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::text))
    AND ($3::int IS NULL OR state = ANY (ARRAY[$3]))
  ORDER BY CASE WHEN $3 IS NOT NULL THEN state END DESC, created_at DESC, id DESC
  OFFSET $4 - 1 LIMIT 1`

type ListedRow = InstanceRow & { at_us: string }

/**
 * A page of sagas, without their data, under the role saga_readonly_role. Always bounded: when a filter matches many
 * sagas but few of the newest, a page may be short or even empty, and its cursor continues.
 */
export async function pageSagas(
  pool: pg.Pool,
  filter: SagaListFilter = {},
  { fewMax = FEW_ROWS_MAX, walkedMax = WALKED_ROWS_MAX } = {},
): Promise<Page<SagaInstance>> {
  const { state, definition, traceId, awaitingOperator } = filter
  const rowsMax = rowsToRead(filter.limit)
  const before = readTimeCursor(filter.cursor, isSagaId)
  if (state !== undefined && !sagaMachine.statuses.includes(state)) {
    throw new SagapostError('query_invalid', `state must be one of ${sagaMachine.statuses.join(', ')}`)
  }
  if ([definition, traceId].some((text) => text?.includes('\0'))) return { data: [], nextCursor: null }
  const stateNumber = state === undefined ? null : sagaMachine.statuses.indexOf(state)
  const values = [
    before.atUs,
    before.id,
    traceId ?? null,
    awaitingOperator ? true : null,
    definition ?? null,
    stateNumber,
    rowsMax,
  ]
  const show = (rows: readonly ListedRow[]) =>
    toPage(rows, rowsMax, toInstance, ({ id, at_us: atUs }) => ({ id, atUs }))

  const filtered = traceId !== undefined || definition !== undefined || awaitingOperator === true
  if (!filtered) return show((await pool.query<ListedRow>(walkSagas, [...values, rowsMax])).rows)
  const few = await pool.query<ListedRow & { found: number }>(selectFewSagas, [...values, fewMax + 1])
  if ((few.rows[0]?.found ?? 0) <= fewMax) return show(few.rows.filter(({ id }) => id !== null))

  const page = show((await pool.query<ListedRow>(walkSagas, [...values, walkedMax])).rows)
  if (page.nextCursor !== null) return page
  const end = await pool.query<ListedRow>(selectWalkEnd, [before.atUs, before.id, stateNumber, walkedMax])
  const last = end.rows[0]
  return last ? { ...page, nextCursor: encodeCursor({ id: last.id, atUs: last.at_us }) } : page
}
