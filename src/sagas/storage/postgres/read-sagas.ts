import type pg from 'pg'
import { type SagaState, sagaMachine } from '../../../model/index.js'
import type { DataBox } from '../../data-box.js'
import type { SagaEventRecord, SagaRecord, StepRecord } from '../../records.js'
import type { SagaFilter } from '../state-storage.js'
import { type EventRow, type SagaRow, type StepRow, toEvent, toSaga, toStep } from './rows.js'

type Queryable = Pick<pg.ClientBase, 'query'> | pg.Pool

const SAGAS_LISTED = 50
const SAGAS_LISTED_MAX = 1_000

/** By the primary key. */
const selectSaga = `
  SELECT *, initial_data::text AS initial_data, result_data::text AS result_data
  FROM sagapost.saga_instances WHERE id = $1`

/** By the primary key. */
const selectStates = 'SELECT id, state FROM sagapost.saga_instances WHERE id = ANY ($1)'

/** By uniq_saga_idempotency_key. */
const selectSagaByKey = `
  SELECT *, initial_data::text AS initial_data, result_data::text AS result_data
  FROM sagapost.saga_instances WHERE definition_id = $1 AND idempotency_key = $2`

/**
 * Newest first. Planned with its values: a filter that is null is gone, and what is left finds idx_saga_trace_id,
 * idx_saga_awaiting_operator, idx_saga_definition_state or idx_saga_created_at.
 */
export const selectSagas = `
  SELECT *, initial_data::text AS initial_data, result_data::text AS result_data
  FROM sagapost.saga_instances
  WHERE created_at > '-infinity' AND ($1::text IS NULL OR definition_id = $1)
    AND ($2::text IS NULL OR trace_id = $2)
    AND ($3::boolean IS NULL OR awaiting_operator = $3)
    AND ($4::timestamptz IS NULL OR (created_at, id) < ($4, $5::text))
  ORDER BY created_at DESC, id DESC
  LIMIT $6`

/**
 * The same of some states: a page of each from idx_saga_state_created, then the newest of these. With one list of states
 * and a LIMIT the planner walks idx_saga_created_at instead, past everything that is in another state; as an array the
 * state has to come from the index's order, and only this one has it.
 */
export const selectSagasInStates = `
  SELECT saga.*, saga.initial_data::text AS initial_data, saga.result_data::text AS result_data
  FROM unnest($7::int[]) AS wanted (state)
  CROSS JOIN LATERAL (
    SELECT * FROM sagapost.saga_instances AS candidate
    WHERE candidate.state = ANY (ARRAY[wanted.state])
      AND ($1::text IS NULL OR definition_id = $1)
      AND ($2::text IS NULL OR trace_id = $2)
      AND ($3::boolean IS NULL OR awaiting_operator = $3)
      AND ($4::timestamptz IS NULL OR (created_at, id) < ($4, $5::text))
    ORDER BY state DESC, created_at DESC, id DESC
    LIMIT $6
  ) AS saga
  ORDER BY created_at DESC, id DESC
  LIMIT $6`

/** From idx_saga_deadline, in its order. Past the pivot, or when all steps are done, a deadline is nothing any more. */
export const selectTimedOut = `
  SELECT *, initial_data::text AS initial_data, result_data::text AS result_data
  FROM sagapost.saga_instances
  WHERE state IN (0, 1, 2) AND deadline_at <= sagapost.now()
    AND pivoted_at IS NULL AND current_step < total_steps
  ORDER BY deadline_at
  LIMIT $1`

/** Pattern 3 [G10], for many sagas: idx_step_saga_index. */
export const selectSteps = `
  SELECT *, output_data::text AS output_data
  FROM sagapost.saga_steps WHERE saga_id = ANY ($1) ORDER BY saga_id, step_index`

/** Pattern 4 [G10], the other way round: idx_event_saga_timestamp finds them, a sort orders those of one moment. */
export const selectEvents = `
  SELECT saga_id, sequence, event_type, step_index, "timestamp", old_state, new_state, event_data, metadata, error,
         trace_id, span_id
  FROM sagapost.saga_events WHERE saga_id = $1 ORDER BY sequence, id`

export async function getSaga(pool: Queryable, id: string, box: DataBox): Promise<SagaRecord | undefined> {
  const { rows } = (await pool.query(selectSaga, [id])) as pg.QueryResult<SagaRow>
  return rows[0] && toSaga(rows[0], box)
}

export async function readStates(pool: pg.Pool, ids: readonly string[]): Promise<Map<string, SagaState>> {
  const { rows } = await pool.query<{ id: string; state: number }>(selectStates, [ids])
  return new Map(rows.map(({ id, state }) => [id, sagaMachine.statuses[state] as SagaState]))
}

export async function getSagaByKey(
  client: Queryable,
  definitionId: string,
  key: string,
  box: DataBox,
): Promise<SagaRecord | undefined> {
  const { rows } = (await client.query(selectSagaByKey, [definitionId, key])) as pg.QueryResult<SagaRow>
  return rows[0] && toSaga(rows[0], box)
}

export async function listSagas(pool: pg.Pool, filter: SagaFilter, box: DataBox): Promise<SagaRecord[]> {
  const states = filter.states?.map((state) => sagaMachine.statuses.indexOf(state))
  const { rows } = await pool.query<SagaRow>(states === undefined ? selectSagas : selectSagasInStates, [
    filter.definitionId ?? null,
    filter.traceId ?? null,
    filter.awaitingOperator ?? null,
    filter.before?.createdAt ?? null,
    filter.before?.id ?? null,
    Math.min(filter.limit ?? SAGAS_LISTED, SAGAS_LISTED_MAX),
    ...(states === undefined ? [] : [states]),
  ])
  return rows.map((row) => toSaga(row, box))
}

export async function findTimedOut(pool: pg.Pool, limit: number, box: DataBox): Promise<SagaRecord[]> {
  const { rows } = await pool.query<SagaRow>(selectTimedOut, [limit])
  return rows.map((row) => toSaga(row, box))
}

export async function listSteps(
  pool: Queryable,
  sagaIds: readonly string[],
  box: DataBox,
): Promise<StepRecord[]> {
  return (await readSteps(pool, sagaIds)).map((row) => toStep(row, box))
}

export async function readSteps(pool: Queryable, sagaIds: readonly string[]): Promise<StepRow[]> {
  const { rows } = (await pool.query(selectSteps, [sagaIds])) as pg.QueryResult<StepRow>
  return rows
}

export async function listEvents(pool: pg.Pool, sagaId: string, box: DataBox): Promise<SagaEventRecord[]> {
  const { rows } = await pool.query<EventRow>(selectEvents, [sagaId])
  return rows.map((row) => toEvent(row, box))
}
