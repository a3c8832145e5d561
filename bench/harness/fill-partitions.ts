import type pg from 'pg'
import { makeBody } from './make-body.js'

interface PartitionRow {
  table_name: string
  partition_name: string
  from_id: string
  to_id: string
}

/** What a delivery that succeeded at once leaves behind; saga, job and event have the same number. */
const fills: Record<string, string> = {
  events: `(id, event_type, payload, created_at)
    SELECT id, 'grown', $1::json, now() - interval '1 day' FROM generate_series($2::bigint, $3::bigint) AS id`,
  webhook_delivery_sagas: `
    (id, event_id, subscription_id, status, attempt_count, next_attempt_at, created_at, updated_at)
    SELECT id, id, 1 + id % 4, 'Completed', 1, now() - interval '1 day', now() - interval '1 day', now() - interval '1 day'
    FROM generate_series($2::bigint, $3::bigint) AS id WHERE $1::text IS NOT NULL`,
  webhook_delivery_jobs: `
    (id, saga_id, event_id, subscription_id, status, lease_until, attempt_at, lease_token, worker_id,
     response_status, duration_ms, response_excerpt, finished_at)
    SELECT id, id, id, 1 + id % 4, 'Completed', now() - interval '1 day', now() - interval '1 day',
           gen_random_uuid(), 'worker-1', 200, 12, '', now() - interval '1 day'
    FROM generate_series($2::bigint, $3::bigint) AS id WHERE $1::text IS NOT NULL`,
}

/**
 * Completed deliveries 1 … count, put into tables that stand alone and are attached when they are full: no trigger
 * runs and the indexes are built at once, which takes minutes instead of hours. The ids then go on behind them.
 */
export async function fillPartitions(
  pool: pg.Pool,
  count: number,
  onFilled: (filled: number) => void,
): Promise<void> {
  await pool.query(`SELECT setval('sagapost.events_id_seq', $1::bigint)`, [count])
  await pool.query(`SELECT setval('sagapost.webhook_delivery_sagas_id_seq', $1::bigint)`, [count])
  await pool.query(`SELECT setval('sagapost.webhook_delivery_jobs_id_seq', $1::bigint)`, [count])
  // What lies behind the ids is not made by ensure_partitions, so it is made here.
  await makeMissing(pool, count)
  await pool.query('SELECT sagapost.ensure_partitions()')
  const { rows } = await pool.query<PartitionRow>(
    'SELECT table_name, partition_name, from_id, to_id FROM sagapost.partitions WHERE from_id <= $1 ORDER BY from_id',
    [count],
  )
  for (const partition of rows) {
    const last = Math.min(Number(partition.to_id) - 1, count)
    if (fills[partition.table_name]) await fillOne(pool, partition, last)
    if (partition.table_name === 'webhook_delivery_jobs') onFilled(last)
  }
  await pool.query('SELECT sagapost.name_partition_indexes()')
  await pool.query('VACUUM (ANALYZE)')
}

async function makeMissing(pool: pg.Pool, count: number): Promise<void> {
  await pool.query(
    `SELECT sagapost.make_partition(growing, wanted, wanted + events_per_partition)
     FROM sagapost.partition_settings,
          unnest(sagapost.growing_tables()) AS growing,
          generate_series(0, $1::bigint, events_per_partition) AS wanted
     WHERE NOT EXISTS (SELECT FROM sagapost.partitions AS present
                       WHERE present.table_name = growing AND present.from_id = wanted)`,
    [count],
  )
}

async function fillOne(pool: pg.Pool, partition: PartitionRow, last: number): Promise<void> {
  const { table_name: table, partition_name: name, from_id: from, to_id: to } = partition
  const client = await pool.connect()
  try {
    await client.query(`ALTER TABLE sagapost.${table} DETACH PARTITION sagapost.${name}`)
    await client.query(`DROP TABLE sagapost.${name}`)
    await client.query(
      `CREATE TABLE sagapost.${name} (LIKE sagapost.${table} INCLUDING DEFAULTS INCLUDING CONSTRAINTS)
       WITH (fillfactor = ${table === 'events' ? 100 : 50})`,
    )
    await client.query(`INSERT INTO sagapost.${name} ${fills[table]}`, [
      makeBody(0),
      Math.max(1, Number(from)),
      last,
    ])
    await client.query(
      `ALTER TABLE sagapost.${table} ATTACH PARTITION sagapost.${name} FOR VALUES FROM (${from}) TO (${to})`,
    )
  } finally {
    client.release()
  }
}
