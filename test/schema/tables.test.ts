import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

const id = 'bigint'
const time = 'timestamp with time zone'
const code = 'character varying(100)'

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
      idx_saga_event: 'event_id, subscription_id',
      idx_saga_status_retry: 'status, next_attempt_at',
      idx_saga_status: 'status',
      uniq_saga_event_subscription: 'event_id, subscription_id',
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
      idx_job_saga: 'saga_id',
      idx_job_status_lease: 'status, lease_until',
      uniq_job_saga_attempt: 'saga_id, attempt_at, event_id',
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
    { idx_dead_saga: 'saga_id', idx_dead_event: 'event_id' },
  ],
  [
    'E1',
    'events',
    { id, event_type: code, created_at: time, payload: 'json' },
    { idx_event_created: 'created_at', idx_event_type: 'event_type, created_at' },
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
    { idx_sub_event_type: 'event_type', idx_sub_active: 'active' },
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
      `SELECT relname AS name, (SELECT string_agg(pg_get_indexdef(indexrelid, n, true), ', ' ORDER BY n)
                                FROM generate_series(1, indnkeyatts) AS n) AS columns, indisunique AS unique
       FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE indrelid = ('sagapost.' || $1)::regclass`,
      [table],
    )
    expect(Object.fromEntries(indexed.map(({ name, columns: keys }) => [name, keys]))).toMatchObject(indexes)
    for (const { name, unique } of indexed)
      if (name.startsWith('uniq_')) expect([name, unique]).toEqual([name, true])
  })
})
