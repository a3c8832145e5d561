import type pg from 'pg'
import { prepared } from '../../../database/index.js'
import type { DataBox } from '../../data-box.js'
import type { ClaimedSaga, Signals } from '../../records.js'
import type { ClaimRequest } from '../state-storage.js'
import { readSteps } from './read-sagas.js'
import { type SagaRow, type StepRow, toSaga, toStep } from './rows.js'

/**
 * What is due of each definition, longest waiting first, from idx_saga_runnable: a lease that has run out is due like a
 * retry whose time has come. What another claims at the same moment is locked, and passed over. Every claim takes the
 * fencing token one further.
 */
export const claimSagas = prepared(`
  WITH due AS MATERIALIZED (
    SELECT saga.id, saga.lease_owner IS NOT NULL AS recovered
    FROM unnest($1::text[], $2::int[], $3::int[]) AS wanted (definition_id, definition_version, slots)
    CROSS JOIN LATERAL (
      SELECT id, lease_owner FROM sagapost.saga_instances AS candidate
      WHERE candidate.definition_id = wanted.definition_id
        AND candidate.definition_version = wanted.definition_version
        AND candidate.state IN (0, 1, 2, 4) AND candidate.wake_at <= sagapost.now()
      ORDER BY candidate.wake_at
      LIMIT wanted.slots
      FOR UPDATE SKIP LOCKED
    ) AS saga
    LIMIT $4
  )
  UPDATE sagapost.saga_instances AS saga SET
    lease_owner = $5,
    lease_until = sagapost.now() + $6::bigint * interval '1 ms',
    wake_at = sagapost.now() + $6::bigint * interval '1 ms',
    woken = false,
    version = version + 1
  FROM due WHERE saga.id = due.id
  RETURNING saga.*, saga.initial_data::text AS initial_data, saga.result_data::text AS result_data, due.recovered,
            coalesce(saga.deadline_at <= sagapost.now(), false) AS overdue`)

/**
 * Rows that are being written at this moment are passed over: the write renews them itself. Of any other lock nobody may
 * believe that the lease was renewed.
 */
export const renewLeases = `
  UPDATE sagapost.saga_instances AS saga SET
    lease_until = sagapost.now() + $3::bigint * interval '1 ms',
    wake_at = sagapost.now() + $3::bigint * interval '1 ms'
  FROM (
    SELECT id FROM sagapost.saga_instances WHERE id = ANY ($2) AND lease_owner = $1 FOR UPDATE SKIP LOCKED
  ) AS held
  WHERE saga.id = held.id
  RETURNING saga.id`

/** By primary key. */
const selectSignals = `
  SELECT id, cancel_requested_at IS NOT NULL AS cancel_requested,
         coalesce(deadline_at <= sagapost.now(), false) AS overdue
  FROM sagapost.saga_instances WHERE id = ANY ($2) AND lease_owner = $1`

export async function claim(pool: pg.Pool, request: ClaimRequest, box: DataBox): Promise<ClaimedSaga[]> {
  const { definitions } = request
  const { rows } = await pool.query<SagaRow & { recovered: boolean; overdue: boolean }>(claimSagas, [
    definitions.map(({ name }) => name),
    definitions.map(({ version }) => version),
    definitions.map(({ limit }) => limit),
    request.limit,
    request.owner,
    request.leaseMs,
  ])
  if (rows.length === 0) return []
  const stepRows = new Map<string, StepRow[]>(rows.map(({ id }) => [id, []]))
  for (const row of await readSteps(pool, [...stepRows.keys()])) stepRows.get(row.saga_id)?.push(row)
  return rows.map((row) => ({
    ...open(row, stepRows.get(row.id) ?? [], box),
    signals: { cancelRequested: row.cancel_requested_at !== null, overdue: row.overdue },
    recovered: row.recovered,
  }))
}

/** Opens each saga's data separately: one that cannot be read does not fail the others. */
function open(
  row: SagaRow,
  stepRows: readonly StepRow[],
  box: DataBox,
): Pick<ClaimedSaga, 'saga' | 'steps' | 'unreadable'> {
  try {
    return { saga: toSaga(row, box), steps: stepRows.map((step) => toStep(step, box)) }
  } catch (error) {
    return {
      saga: toSaga({ ...row, initial_data: null, result_data: null }, box),
      steps: [],
      unreadable: error as Error,
    }
  }
}

export async function readSignals(
  pool: pg.Pool,
  owner: string,
  sagaIds: readonly string[],
): Promise<Map<string, Signals>> {
  const { rows } = await pool.query(selectSignals, [owner, sagaIds])
  return new Map(rows.map((row) => [row.id, { cancelRequested: row.cancel_requested, overdue: row.overdue }]))
}
