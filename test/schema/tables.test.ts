import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

const id = 'bigint'
const time = 'timestamp with time zone'
const code = 'character varying(100)'

const active = `status = ANY (ARRAY['Pending'::job_status, 'Leased'::job_status])`

/** What the index is, whole: whether it is unique, its columns and its predicate. */
const withoutNames = (definition: string) =>
  definition.replace(/^CREATE (UNIQUE )?INDEX \S+ ON (?:ONLY )?\S+ USING btree /, '$1INDEX ')

/** The columns and indexes that the rules name; more may be there. */
const tables: [
  rules: string,
  table: string,
  columns: Record<string, string>,
  indexes: Record<string, string>,
][] = [
  [
    'S1, S2, S3',
    'webhook_delivery_sagas',
    {
      id,
      event_id: id,
      subscription_id: id,
      status: 'sagapost.delivery_status',
      attempt_count: 'integer',
      next_attempt_at: time,
      final_error_code: code,
      created_at: time,
      updated_at: time,
    },
    {
      idx_saga_event: 'INDEX (event_id, subscription_id) WHERE (requeued_from > 0)',
      idx_saga_status_retry: `INDEX (status, next_attempt_at) WHERE (status = 'PendingRetry'::delivery_status)`,
      idx_saga_status: `INDEX (status) WHERE (status = 'Pending'::delivery_status)`,
      uniq_saga_event_subscription:
        'UNIQUE INDEX (event_id, subscription_id, requeued_from) NULLS NOT DISTINCT',
      uniq_saga_requeued_from: 'UNIQUE INDEX (requeued_from, event_id) WHERE (requeued_from IS NOT NULL)',
    },
  ],
  [
    'J1, J2',
    'webhook_delivery_jobs',
    {
      id,
      saga_id: id,
      status: 'sagapost.job_status',
      lease_until: time,
      attempt_at: time,
      response_status: 'integer',
      error_code: code,
    },
    {
      idx_job_saga: `INDEX (saga_id) WHERE (status = 'Failed'::job_status)`,
      idx_job_status_lease: `INDEX (status, lease_until) WHERE (${active})`,
      uniq_job_saga_active: `UNIQUE INDEX (saga_id, event_id) WHERE (${active})`,
      uniq_job_saga_attempt: 'UNIQUE INDEX (saga_id, attempt_at, event_id)',
    },
  ],
  [
    'D1',
    'dead_letters',
    {
      id,
      saga_id: id,
      event_id: id,
      subscription_id: id,
      final_error_code: code,
      failed_at: time,
      payload_snapshot: 'json',
    },
    {
      idx_dead_saga: 'INDEX (saga_id)',
      idx_dead_event: 'INDEX (event_id)',
      uniq_dead_saga: 'UNIQUE INDEX (saga_id, event_id)',
    },
  ],
  [
    'E1',
    'events',
    { id, event_type: code, created_at: time, payload: 'json' },
    { idx_event_created: 'INDEX (created_at)', idx_event_type: 'INDEX (event_type, created_at)' },
  ],
  [
    'U1',
    'subscriptions',
    {
      id,
      event_type: code,
      callback_url: 'character varying(500)',
      active: 'boolean',
      verified: 'boolean',
      created_at: time,
      updated_at: time,
    },
    { idx_sub_event_type: 'INDEX (event_type)', idx_sub_active: 'INDEX (active)' },
  ],
]

describe('[S1, S2, J1, J2, D1, E1, U1] the tables of the rules', () => {
  it.each(tables)('[%s] %s has its columns, types and indexes', async (_rules, table, columns, indexes) => {
    const { rows: found } = await database.pool.query(
      `SELECT attname AS name, CASE WHEN typnamespace = 'sagapost'::regnamespace THEN 'sagapost.' || typname
                                    ELSE format_type(atttypid, atttypmod) END AS type
       FROM pg_attribute JOIN pg_type ON pg_type.oid = atttypid
       WHERE attrelid = ('sagapost.' || $1)::regclass AND attnum > 0 AND NOT attisdropped`,
      [table],
    )
    expect(Object.fromEntries(found.map(({ name, type }) => [name, type]))).toMatchObject(columns)
    const { rows: indexed } = await database.pool.query(
      `SELECT relname AS name, pg_get_indexdef(indexrelid) AS definition, indisvalid AS valid
       FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = ('sagapost.' || $1)::regclass`,
      [table],
    )
    const defined = indexed.map(({ name, definition }) => [name, withoutNames(definition)])
    expect(Object.fromEntries(defined)).toMatchObject(indexes)
    expect(indexed.filter(({ valid }) => !valid)).toEqual([])
  })
})
