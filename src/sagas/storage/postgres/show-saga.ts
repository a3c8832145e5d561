import type pg from 'pg'
import { inTransaction } from '../../../database/index.js'
import { blindBox, type DataBox, type DataPlace } from '../../data-box.js'
import { decodeJson } from '../../json.js'
import type { WholeSaga } from '../../saga-view.js'
import { type EventRow, openEventRow, openSagaRow, openStepRow, type SagaRow, type StepRow } from './rows.js'
import { isSagaId, toEventView, toInstance, toStepView } from './view-rows.js'

/** Limit of the history shown; a saga has about ten events per step, and more only after very many retries. */
const EVENTS_SHOWN_MAX = 1_000

/** The three reads see one moment: a saga that moves on between them would not fit its steps. */
const oneSnapshot = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY'

/** By the primary key. */
export const selectShownSaga = `
  SELECT *, initial_data::text AS initial_data, result_data::text AS result_data
  FROM sagapost.saga_instances WHERE id = $1`

/** By idx_step_saga_index. */
export const selectShownSteps = `
  SELECT *, output_data::text AS output_data
  FROM sagapost.saga_steps WHERE saga_id = $1 ORDER BY step_index`

/** The last ones, by idx_event_saga_timestamp: those of one moment are read together, and sorted by their sequence. */
export const selectShownEvents = `
  SELECT saga_id, sequence, event_type, step_index, "timestamp", old_state, new_state, event_data, metadata, error,
         trace_id, span_id
  FROM sagapost.saga_events WHERE saga_id = $1 ORDER BY "timestamp" DESC, sequence DESC LIMIT $2`

/**
 * One saga with its steps and its history, under the role saga_readonly_role. Encrypted data is shown encrypted unless
 * there is a box to open it.
 */
export async function showSaga(
  pool: pg.Pool,
  id: string,
  box: DataBox = blindBox,
): Promise<WholeSaga | null> {
  if (typeof id !== 'string' || !isSagaId(id)) return null
  const found = await inTransaction(pool, async (client) => {
    await client.query(oneSnapshot)
    const saga = await client.query<SagaRow>(selectShownSaga, [id])
    const steps = await client.query<StepRow>(selectShownSteps, [id])
    const events = await client.query<EventRow>(selectShownEvents, [id, EVENTS_SHOWN_MAX])
    return { saga: saga.rows[0], steps: steps.rows, events: events.rows }
  })
  const { saga, steps, events } = found
  if (saga === undefined) return null
  const read = (text: string | null, place: DataPlace): unknown =>
    text === null ? null : decodeJson(box.open(text, place))
  const shown = openSagaRow(saga, box)
  return {
    ...toInstance(shown),
    input: read(saga.initial_data, { sagaId: id, column: 'initial_data' }),
    current: shown.current_data,
    result: read(saga.result_data, { sagaId: id, column: 'result_data' }),
    metadata: saga.metadata,
    eventCount: saga.event_count,
    steps: steps.map((step) => {
      const place = { sagaId: id, column: 'output_data', stepIndex: step.step_index } as const
      return toStepView(openStepRow(step, box), read(step.output_data, place))
    }),
    events: events
      .map((event) => toEventView(openEventRow(event, box)))
      .sort((a, b) => a.sequence - b.sequence),
  }
}
