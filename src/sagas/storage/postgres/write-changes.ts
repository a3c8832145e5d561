import type pg from 'pg'
import type { DataBox } from '../../data-box.js'
import { sagaStateNumber, stepStateNumber } from '../../decide/index.js'
import { sealError } from '../../error-box.js'
import type { SagaChange } from '../../records.js'
import type { WriteOutcome } from '../state-storage.js'
import { toStartParameter } from './start-saga.js'

/** migrations/0012: many sagas' changes in one statement, and so in one commit. */
const writeSagaChanges =
  'SELECT saga_id, cancel_requested, overdue, moment FROM sagapost.write_saga_changes($1, $2)'

/**
 * The same inside of a transaction that is ended by another statement: a process that is cut off in between holds the
 * saga's row no longer than its lease. As JSON: the session is the application's, with its DateStyle and its parsers.
 */
const writeInTransaction = `
  SELECT to_json(moved)::text AS moved,
         set_config('idle_in_transaction_session_timeout', least($2::bigint, 2147483647)::text, true)
  FROM sagapost.write_saga_changes($1, $2) AS moved`

interface MovedRow {
  saga_id: string
  cancel_requested: boolean
  overdue: boolean
  moment: Date
}

export async function applyChanges(
  client: Pick<pg.ClientBase, 'query'> | pg.Pool,
  changes: readonly SagaChange[],
  leaseMs: number,
  box: DataBox,
): Promise<WriteOutcome[]> {
  const { rows } = (await client.query(
    writeSagaChanges,
    toParameters(changes, leaseMs, box),
  )) as pg.QueryResult<MovedRow>
  return toOutcomes(changes, rows)
}

export async function applyChangesInTransaction(
  client: Pick<pg.ClientBase, 'query'>,
  changes: readonly SagaChange[],
  leaseMs: number,
  box: DataBox,
): Promise<WriteOutcome[]> {
  const { rows } = (await client.query(
    writeInTransaction,
    toParameters(changes, leaseMs, box),
  )) as pg.QueryResult<{ moved: string }>
  const moved = rows.map(({ moved }) => JSON.parse(moved) as MovedRow & { moment: string })
  return toOutcomes(
    changes,
    moved.map((row) => ({ ...row, moment: new Date(row.moment) })),
  )
}

function toParameters(changes: readonly SagaChange[], leaseMs: number, box: DataBox): unknown[] {
  return [JSON.stringify(changes.map((change) => toParameter(change, box))), leaseMs]
}

function toOutcomes(changes: readonly SagaChange[], rows: readonly MovedRow[]): WriteOutcome[] {
  const moved = new Map(rows.map((row) => [row.saga_id, row]))
  return changes.map(({ sagaId }) => {
    const row = moved.get(sagaId)
    if (row === undefined) return { applied: false }
    const { cancel_requested: cancelRequested, overdue, moment } = row
    return { applied: true, cancelRequested, overdue, moment }
  })
}

/** Absent properties are null in the parameter, and mean false or unchanged. */
function toParameter(change: SagaChange, box: DataBox): Record<string, unknown> {
  const { sagaId, release } = change
  return {
    saga_id: sagaId,
    owner: change.owner,
    version: change.version,
    state: sagaStateNumber(change.state),
    current_step: change.currentStep,
    error: sealError(change.error, sagaId, box) ?? undefined,
    current: change.current && box.seal(change.current, { sagaId, column: 'current_data' }),
    awaiting_operator: change.awaitingOperator,
    result: change.result && box.seal(change.result, { sagaId, column: 'result_data' }),
    started: change.started,
    finished: change.finished,
    timed_out: change.timedOut,
    released: release && true,
    wake_in_ms: release?.wakeInMs ?? undefined,
    wake_at: release?.wakeAt,
    set_aside: release?.setAside,
    pivoted: change.pivoted,
    children: change.children?.map((child) => toStartParameter(child, box)),
    wakes: change.wakes,
    publications: change.publications?.map(({ stepIndex, type, payload, spanId }) => ({
      step_index: stepIndex,
      type,
      payload,
      span_id: spanId,
    })),
    events_written: change.events.length,
    steps: change.steps.map((step) => ({
      index: step.index,
      state: stepStateNumber(step.state),
      attempts: step.attempts,
      max_attempts: step.maxAttempts,
      error: sealError(step.error, sagaId, box) ?? undefined,
      compensation: step.compensation
        ? { ...step.compensation, error: sealError(step.compensation.error, sagaId, box) }
        : undefined,
      input: step.input && box.seal(step.input, { sagaId, column: 'input_data', stepIndex: step.index }),
      output: step.output && box.seal(step.output, { sagaId, column: 'output_data', stepIndex: step.index }),
      started: step.started,
      finished: step.finished,
      waits_for: step.waitsFor ?? undefined,
      wake_in_ms: step.wake && 'inMs' in step.wake ? step.wake.inMs : undefined,
      wake_at: step.wake && 'at' in step.wake ? step.wake.at : undefined,
    })),
    events: change.events.map((event) => ({
      type: event.type,
      step_index: event.stepIndex ?? undefined,
      old_state: event.oldState,
      new_state: event.newState,
      data: event.data,
      metadata: event.metadata,
      error: sealError(event.error, sagaId, box),
      span_id: event.spanId,
    })),
  }
}
