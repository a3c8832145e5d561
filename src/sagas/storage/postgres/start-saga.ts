import type pg from 'pg'
import type { DataBox } from '../../data-box.js'
import { firstInput, newRecord } from '../../decide/index.js'
import { decodeJson } from '../../json.js'
import type { NewSaga } from '../../records.js'
import type { StartOutcome } from '../state-storage.js'
import { getSagaByKey } from './read-sagas.js'

/**
 * migrations/0012: one statement, so that a caller's transaction has all of it or nothing. JSON has one way to write a
 * time: the caller's session may have another DateStyle, and its `pg` other parsers.
 */
const startSagasSql = `SELECT saga_id, to_json(moment)::text AS moment FROM sagapost.start_sagas($1)`

/** The same in a transaction of its own, with a lock_timeout: docs/internals/hot-statements.md#settings-before-a-function. */
const startAloneSql = `
  WITH limited AS MATERIALIZED (SELECT set_config('lock_timeout', $2, true) AS wait)
  SELECT made.saga_id, to_json(made.moment)::text AS moment
  FROM limited CROSS JOIN LATERAL sagapost.start_sagas(CASE WHEN limited.wait <> '' THEN $1::jsonb END) AS made`

type Queryable = Pick<pg.ClientBase, 'query'>

export async function startSagas(
  client: Queryable,
  sagas: readonly NewSaga[],
  box: DataBox,
  lockTimeout?: string,
): Promise<StartOutcome[]> {
  const given = JSON.stringify(sagas.map((saga) => toStartParameter(saga, box)))
  const { rows } = (await (lockTimeout === undefined
    ? client.query(startSagasSql, [given])
    : client.query(startAloneSql, [given, lockTimeout]))) as pg.QueryResult<{
    saga_id: string
    moment: string
  }>
  const made = new Map(rows.map(({ saga_id, moment }) => [saga_id, new Date(JSON.parse(moment))]))
  const outcomes: StartOutcome[] = []
  for (const saga of sagas) {
    const moment = made.get(saga.id)
    outcomes.push(
      moment ? { created: true, saga: newRecord(saga, moment) } : await findFirst(client, saga, box),
    )
  }
  return outcomes
}

async function findFirst(client: Queryable, saga: NewSaga, box: DataBox): Promise<StartOutcome> {
  const { idempotencyKey: key, definitionId } = saga
  const first = key === null ? undefined : await getSagaByKey(client, definitionId, key, box)
  // Only under REPEATABLE READ: the first saga was committed after this transaction's snapshot was taken.
  if (first === undefined) throw new Error(`the saga with the key ${key} cannot be seen by this transaction`)
  return { created: false, saga: first }
}

/** A saga in the form that sagapost.start_sagas takes. */
export function toStartParameter(saga: NewSaga, box: DataBox): Record<string, unknown> {
  const { id, lease } = saga
  const firstPlace = { sagaId: id, column: 'input_data', stepIndex: 0 } as const
  return {
    id,
    definition_id: saga.definitionId,
    definition_version: saga.definitionVersion,
    idempotency_key: saga.idempotencyKey,
    name: saga.name,
    description: saga.description,
    input: saga.input === undefined ? null : box.seal(saga.input, { sagaId: id, column: 'initial_data' }),
    timeout_ms: saga.timeoutMs,
    retry_policy: saga.retryPolicy,
    metadata: saga.metadata,
    trace_id: saga.traceId,
    span_id: saga.spanId,
    parent_id: saga.parentId,
    publishes: saga.publishes,
    step_names: saga.steps.map(({ name }) => name),
    step_attempts: saga.steps.map(({ maxAttempts }) => maxAttempts),
    step_metadata: saga.steps.some(({ metadata }) => metadata)
      ? saga.steps.map(({ metadata }) => metadata ?? null)
      : undefined,
    ...(lease
      ? {
          lease_owner: lease.owner,
          lease_ms: lease.leaseMs,
          first_input: lease.events && box.seal(firstInput(decodeJson(saga.input)), firstPlace),
          events: lease.events?.map((event) => ({
            type: event.type,
            step_index: event.stepIndex,
            old_state: event.oldState,
            new_state: event.newState,
            data: event.data,
            metadata: event.metadata,
            span_id: event.spanId,
          })),
        }
      : {}),
  }
}
