import { beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { outcomeOf } from '../../support/refusal.js'
import {
  allowAnyBeginning,
  countRows,
  inRolledBackTransaction,
  insertSaga,
  insertSagaEvent,
  insertStep,
} from './fixtures.js'

const database = useDatabase()

beforeAll(() => allowAnyBeginning(database.pool))

const varchar = (length: number) => `character varying(${length})`
const timestamptz = 'timestamp with time zone'
const now = 'sagapost.now()'

async function columnsOf(table: string): Promise<string[][]> {
  const { rows } = await inRolledBackTransaction(database.pool, async (client) => {
    await client.query(`SET LOCAL search_path = ''`) // names are then written in full
    return client.query(
      `SELECT attname, format_type(atttypid, atttypmod) AS type, attnotnull,
            pg_get_expr(adbin, adrelid) AS default
     FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped
     ORDER BY attnum`,
      [`sagapost.${table}`],
    )
  })
  return rows.map((row) => [
    row.attname,
    row.type,
    row.attnotnull ? 'not null' : 'null',
    ...(row.default === null ? [] : [row.default]),
  ])
}

describe('columns', () => {
  it('[G1] saga_instances has the named columns, awaiting_operator and those of the coordinator', async () => {
    expect(await columnsOf('saga_instances')).toEqual([
      ['id', varchar(255), 'not null'],
      ['definition_id', varchar(255), 'not null'],
      ['name', varchar(255), 'null'],
      ['description', 'text', 'null'],
      ['state', 'integer', 'not null'],
      ['current_step', 'integer', 'not null'],
      ['total_steps', 'integer', 'not null'],
      ['created_at', timestamptz, 'not null', now],
      ['updated_at', timestamptz, 'not null', now],
      ['started_at', timestamptz, 'null'],
      ['completed_at', timestamptz, 'null'],
      ['timed_out_at', timestamptz, 'null'],
      ['initial_data', 'jsonb', 'null'],
      ['current_data', 'jsonb', 'null'],
      ['result_data', 'jsonb', 'null'],
      ['error', 'jsonb', 'null'],
      ['timeout_ms', 'bigint', 'null'],
      ['retry_policy', 'jsonb', 'null'],
      ['metadata', 'jsonb', 'null'],
      ['trace_id', varchar(255), 'null'],
      ['span_id', varchar(255), 'null'],
      ['awaiting_operator', 'boolean', 'not null', 'false'],
      ['definition_version', 'integer', 'not null', '1'],
      ['idempotency_key', varchar(255), 'null'],
      ['wake_at', timestamptz, 'null', now],
      ['deadline_at', timestamptz, 'null'],
      ['lease_owner', varchar(255), 'null'],
      ['lease_until', timestamptz, 'null'],
      ['version', 'bigint', 'not null', '0'],
      ['event_count', 'integer', 'not null', '0'],
      ['cancel_requested_at', timestamptz, 'null'],
      ['cancel_requested_by', varchar(255), 'null'],
      ['cancel_reason', 'text', 'null'],
      ['parent_id', varchar(255), 'null'],
      ['pivoted_at', timestamptz, 'null'],
      ['woken', 'boolean', 'not null', 'false'],
      ['publishes', 'boolean', 'not null', 'false'],
    ])
  })

  it('[G2] saga_steps has the named columns, and those of waits', async () => {
    expect(await columnsOf('saga_steps')).toEqual([
      ['id', varchar(255), 'not null'],
      ['saga_id', varchar(255), 'not null'],
      ['step_index', 'integer', 'not null'],
      ['name', varchar(255), 'not null'],
      ['state', 'integer', 'not null'],
      ['attempts', 'integer', 'not null'],
      ['max_attempts', 'integer', 'not null'],
      ['created_at', timestamptz, 'not null', now],
      ['started_at', timestamptz, 'null'],
      ['completed_at', timestamptz, 'null'],
      ['last_attempt_at', timestamptz, 'null'],
      ['input_data', 'jsonb', 'null'],
      ['output_data', 'jsonb', 'null'],
      ['error', 'jsonb', 'null'],
      ['compensation_state', 'jsonb', 'null'],
      ['metadata', 'jsonb', 'null'],
      ['waits_for', 'text', 'null'],
      ['wake_at', timestamptz, 'null'],
      // Of steps that take long.
      ['progress', 'jsonb', 'null'],
    ])
  })

  it('[G3] saga_events has the named columns, and sequence', async () => {
    expect(await columnsOf('saga_events')).toEqual([
      ['id', 'bigint', 'not null', "nextval('sagapost.saga_events_id_seq'::regclass)"],
      ['saga_id', varchar(255), 'not null'],
      ['event_type', varchar(100), 'not null'],
      ['step_id', varchar(255), 'null'],
      ['step_index', 'integer', 'null'],
      ['timestamp', timestamptz, 'not null', now],
      ['event_data', 'jsonb', 'null'],
      ['old_state', 'integer', 'null'],
      ['new_state', 'integer', 'null'],
      ['error', 'jsonb', 'null'],
      ['trace_id', varchar(255), 'null'],
      ['span_id', varchar(255), 'null'],
      ['metadata', 'jsonb', 'null'],
      ['sequence', 'integer', 'null'],
    ])
  })
})

describe('checks', () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('[G1] accepts a saga in state %i', async (state) => {
    expect(await outcomeOf(insertSaga(database.pool, { state }))).toBe('accepted')
  })

  it.each([
    ['saga_instances_state_range', { state: -1 }],
    ['saga_instances_state_range', { state: 9 }],
    ['saga_instances_current_step_not_negative', { current_step: -1 }],
    ['saga_instances_total_steps_not_negative', { total_steps: -1 }],
    ['saga_instances_timeout_positive', { timeout_ms: 0 }],
    ['saga_instances_error_shape', { error: {} }],
    ['saga_instances_retry_policy_shape', { retry_policy: {} }],
  ])('[G1] %s refuses a saga with %j', async (constraint, row) => {
    expect(await outcomeOf(insertSaga(database.pool, row))).toMatchObject({ sqlState: '23514', constraint })
  })

  it('[G1] accepts a saga with every number at its lowest', async () => {
    const lowest = { current_step: 0, total_steps: 0, timeout_ms: 1 }
    expect(await outcomeOf(insertSaga(database.pool, lowest))).toBe('accepted')
  })

  it.each([0, 2, 3, 4, 5, 7, 8])('[G8] refuses a saga in state %i that awaits an operator', async (state) => {
    expect(await outcomeOf(insertSaga(database.pool, { state, awaiting_operator: true }))).toMatchObject({
      sqlState: '23514',
      constraint: 'saga_instances_awaiting_operator_state',
    })
  })

  it('[G14] lets a Running saga await an operator: one of its deliveries is dead-lettered', async () => {
    expect(
      await outcomeOf(
        insertSaga(database.pool, {
          state: 1,
          awaiting_operator: true,
          lease_owner: 'me',
          lease_until: new Date(),
        }),
      ),
    ).toBe('accepted')
  })

  it('[G8] lets a Failed saga await an operator, and refuses to move it on while it does', async () => {
    const id = await insertSaga(database.pool, { state: 6, awaiting_operator: true })
    const move = (set: string) =>
      outcomeOf(database.pool.query(`UPDATE sagapost.saga_instances SET ${set} WHERE id = $1`, [id]))
    expect(await move('state = 4')).toMatchObject({
      constraint: 'saga_instances_awaiting_operator_state',
    })
    expect(await move('state = 4, awaiting_operator = false')).toBe('accepted')
  })

  it.each([0, 1, 2, 3, 4, 5, 6])('[G2] accepts a step in state %i', async (state) => {
    const saga = await insertSaga(database.pool)
    expect(await outcomeOf(insertStep(database.pool, saga, { state }))).toBe('accepted')
  })

  it.each([
    ['saga_steps_state_range', { state: -1 }],
    ['saga_steps_state_range', { state: 7 }],
    ['saga_steps_step_index_not_negative', { step_index: -1 }],
    ['saga_steps_attempts_not_negative', { attempts: -1 }],
    ['saga_steps_max_attempts_positive', { max_attempts: 0 }],
    ['saga_steps_error_shape', { error: {} }],
    ['saga_steps_compensation_state_shape', { compensation_state: {} }],
  ])('[G2] %s refuses a step with %j', async (constraint, row) => {
    const saga = await insertSaga(database.pool)
    expect(await outcomeOf(insertStep(database.pool, saga, row))).toMatchObject({
      sqlState: '23514',
      constraint,
    })
  })

  it('[G2] accepts a step with every number at its lowest', async () => {
    const saga = await insertSaga(database.pool)
    const lowest = { step_index: 0, attempts: 0, max_attempts: 1 }
    expect(await outcomeOf(insertStep(database.pool, saga, lowest))).toBe('accepted')
  })

  it.each([
    'saga.started',
    'saga.step.started',
    'saga.step.completed',
    'saga.step.failed',
    'saga.completed',
    'saga.failed',
    'saga.cancelled',
    'saga.timed_out',
    'compensation.started',
    'compensation.step.started',
    'compensation.step.completed',
    'compensation.step.failed',
    'compensation.completed',
    'compensation.failed',
    'retry.attempted',
    'retry.exhausted',
    'state.changed',
  ])('[G3] accepts an event of type %s', async (type) => {
    const saga = await insertSaga(database.pool)
    expect(await outcomeOf(insertSagaEvent(database.pool, saga, { event_type: type }))).toBe('accepted')
  })

  it.each([
    ['saga_events_event_type_known', { event_type: 'saga.paused' }],
    ['saga_events_event_type_known', { event_type: 'Saga.started' }],
    ['saga_events_event_type_known', { event_type: '' }],
    ['saga_events_step_index_not_negative', { step_index: -1 }],
    ['saga_events_old_state_range', { old_state: -1 }],
    ['saga_events_old_state_range', { old_state: 9 }],
    ['saga_events_new_state_range', { new_state: -1 }],
    ['saga_events_new_state_range', { new_state: 9 }],
    ['saga_events_error_shape', { error: {} }],
  ])('[G3] %s refuses an event with %j', async (constraint, row) => {
    const saga = await insertSaga(database.pool)
    expect(await outcomeOf(insertSagaEvent(database.pool, saga, row))).toMatchObject({
      sqlState: '23514',
      constraint,
    })
  })

  it('[G3] accepts an event at both ends of its ranges', async () => {
    const saga = await insertSaga(database.pool)
    const ends = { step_index: 0, old_state: 0, new_state: 8 }
    expect(await outcomeOf(insertSagaEvent(database.pool, saga, ends))).toBe('accepted')
  })
})

describe('keys', () => {
  it('[G1] refuses a second saga with the same id', async () => {
    const id = await insertSaga(database.pool)
    expect(await outcomeOf(insertSaga(database.pool, { id }))).toMatchObject({
      sqlState: '23505',
      constraint: 'saga_instances_pkey',
    })
  })

  it('[G2] refuses a second step with the same id', async () => {
    const saga = await insertSaga(database.pool)
    const id = await insertStep(database.pool, saga)
    expect(await outcomeOf(insertStep(database.pool, saga, { id, step_index: 1 }))).toMatchObject({
      sqlState: '23505',
      constraint: 'saga_steps_pkey',
    })
  })

  it('[G2] refuses a second step at the same index of a saga, and accepts it in another saga', async () => {
    const saga = await insertSaga(database.pool)
    await insertStep(database.pool, saga, { step_index: 4 })
    expect(await outcomeOf(insertStep(database.pool, saga, { step_index: 4 }))).toMatchObject({
      sqlState: '23505',
      constraint: 'idx_step_unique_saga_index',
    })
    const other = await insertSaga(database.pool)
    expect(await outcomeOf(insertStep(database.pool, other, { step_index: 4 }))).toBe('accepted')
  })

  it('[G2] is a target for ON CONFLICT (saga_id, step_index)', async () => {
    const saga = await insertSaga(database.pool)
    const upsert = (id: string, state: number) =>
      database.pool.query(
        `INSERT INTO sagapost.saga_steps (id, saga_id, step_index, name, state, attempts, max_attempts)
         VALUES ($1, $2, 0, 'reserve', $3, 0, 1)
         ON CONFLICT (saga_id, step_index) DO UPDATE SET state = excluded.state
         RETURNING id, state`,
        [id, saga, state],
      )
    await upsert(`${saga}-a`, 0)
    expect((await upsert(`${saga}-b`, 6)).rows).toEqual([{ id: `${saga}-a`, state: 6 }])
  })

  it('[G2] refuses a step of a saga that does not exist', async () => {
    expect(await outcomeOf(insertStep(database.pool, 'nobody'))).toMatchObject({
      sqlState: '23503',
      constraint: 'fk_saga_steps_saga',
    })
  })

  it('[G3] refuses an event of a saga that does not exist', async () => {
    expect(await outcomeOf(insertSagaEvent(database.pool, 'nobody'))).toMatchObject({
      sqlState: '23503',
      constraint: 'fk_saga_events_saga',
    })
  })

  it('[G2] [G3] removes the steps and events of a saga together with it, and no others', async () => {
    const [gone, kept] = [await insertSaga(database.pool), await insertSaga(database.pool)]
    for (const saga of [gone, kept]) {
      await insertStep(database.pool, saga, { step_index: 0 })
      await insertStep(database.pool, saga, { step_index: 1 })
      await insertSagaEvent(database.pool, saga)
    }
    await database.pool.query('DELETE FROM sagapost.saga_instances WHERE id = $1', [gone])
    expect(await countRows(database.pool, 'saga_steps', gone)).toBe(0)
    expect(await countRows(database.pool, 'saga_events', gone)).toBe(0)
    expect(await countRows(database.pool, 'saga_steps', kept)).toBe(2)
    expect(await countRows(database.pool, 'saga_events', kept)).toBe(1)
  })
})
