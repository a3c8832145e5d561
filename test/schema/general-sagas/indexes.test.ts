import { expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'

const database = useDatabase()

const summarised = (columns: string) => `brin (${columns}) WITH (autosummarize='on')`

/** Every index that [G4] names, and the primary keys, as PostgreSQL writes them back after USING. */
const documented = {
  saga_instances: {
    saga_instances_pkey: 'btree (id)',
    idx_saga_state: 'btree (state) WHERE (state = ANY (ARRAY[0, 3, 5, 6, 7, 8]))',
    idx_saga_definition_id: summarised('definition_id'),
    idx_saga_created_at: 'btree (created_at) WHERE (created_at IS NOT NULL)',
    idx_saga_updated_at: 'btree (updated_at)',
    idx_saga_trace_id: 'btree (trace_id) WHERE (trace_id IS NOT NULL)',
    idx_saga_state_created: 'btree (state, created_at)',
    idx_saga_state_updated:
      'btree (state, updated_at) WHERE ((state = ANY (ARRAY[1, 2, 4])) AND (updated_at IS NOT NULL))',
    idx_saga_definition_state: 'btree (definition_id, state) WHERE (definition_id IS NOT NULL)',
    idx_saga_metadata: 'gin (metadata jsonb_path_ops) WHERE (metadata IS NOT NULL)',
    idx_saga_started_at: 'btree (started_at) WHERE (started_at IS NOT NULL)',
    idx_saga_completed_at: 'btree (completed_at) WHERE ((state = 3) OR (completed_at IS NOT NULL))',
    idx_saga_filter_state_timeout:
      'btree (created_at) WHERE ((state = ANY (ARRAY[1, 2, 4])) AND (created_at IS NOT NULL))',
    idx_saga_terminal_cleanup: 'btree (updated_at) WHERE (state = ANY (ARRAY[3, 5, 6, 7, 8]))',
    // The coordinator's own.
    idx_saga_runnable:
      'btree (definition_id, definition_version, wake_at) WHERE ((state = ANY (ARRAY[0, 1, 2, 4])) AND (wake_at IS NOT NULL))',
    idx_saga_deadline:
      'btree (deadline_at) WHERE ((state = ANY (ARRAY[0, 1, 2])) AND (deadline_at IS NOT NULL))',
    idx_saga_awaiting_operator: 'btree (updated_at) WHERE awaiting_operator',
    idx_saga_parent: 'btree (parent_id) WHERE (parent_id IS NOT NULL)',
    uniq_saga_idempotency_key: 'btree (definition_id, idempotency_key) WHERE (idempotency_key IS NOT NULL)',
  },
  saga_steps: {
    saga_steps_pkey: 'btree (id)',
    idx_step_saga_id: summarised('saga_id'),
    idx_step_waits_for: 'btree (waits_for) WHERE ((waits_for IS NOT NULL) AND (state = ANY (ARRAY[1, 4])))',
    idx_step_state: 'btree (state, attempts) WHERE (state = ANY (ARRAY[0, 1, 3, 4, 5, 6]))',
    idx_step_saga_index: 'btree (saga_id, step_index)',
    idx_step_saga_state: summarised('saga_id, state'),
    idx_step_state_attempts: 'btree (state, attempts) WHERE ((state = 3) AND (attempts < max_attempts))',
    idx_step_unique_saga_index: 'btree (step_index, saga_id)',
  },
  saga_events: {
    saga_events_pkey: 'btree (id)',
    idx_event_saga_id: summarised('saga_id'),
    // [G4] Not idx_event_type, which is an index of sagapost.events [E1].
    idx_saga_events_type: summarised('event_type'),
    idx_event_timestamp: 'btree ("timestamp" DESC)',
    idx_event_saga_timestamp: 'btree (saga_id, "timestamp" DESC)',
    idx_event_saga_type: summarised('saga_id, event_type'),
    idx_event_type_timestamp: 'btree (event_type, "timestamp" DESC)',
    idx_event_step_id: 'btree (step_id) WHERE (step_id IS NOT NULL)',
    idx_event_trace_id: 'btree (trace_id) WHERE (trace_id IS NOT NULL)',
  },
}

it.each(Object.entries(documented))(
  '[G4] %s has every named index, those of the coordinator, and no other',
  async (table, expected) => {
    const { rows } = await database.pool.query<{ indexname: string; indexdef: string }>(
      `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'sagapost' AND tablename = $1`,
      [table],
    )
    const found = Object.fromEntries(
      rows.map(({ indexname, indexdef }) => [indexname, indexdef.replace(/^.* USING /, '')]),
    )
    expect(found).toEqual(expected)
  },
)

it('[G2] of these, the primary keys, one step per place and one saga per key are unique', async () => {
  const { rows } = await database.pool.query<{ name: string }>(
    `SELECT relname AS name FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
     WHERE indisunique AND indrelid = ANY ($1::regclass[]) ORDER BY 1`,
    [Object.keys(documented).map((table) => `sagapost.${table}`)],
  )
  expect(rows.map(({ name }) => name)).toEqual([
    'idx_step_unique_saga_index',
    'saga_events_pkey',
    'saga_instances_pkey',
    'saga_steps_pkey',
    'uniq_saga_idempotency_key',
  ])
})
