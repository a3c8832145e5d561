import type { TestDatabase } from './database.js'

const growingTables = ['events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters']

/**
 * `count` narrow partitions from 0 on instead of the ones that the migrations make, and no guards: for files
 * that write rows as they would stand after a while. Call it before anything is stored.
 */
export async function narrowPartitions({ pool }: TestDatabase, width: number, count: number): Promise<void> {
  await pool.query(`UPDATE sagapost.partition_settings SET events_per_partition = $1`, [width])
  for (const table of growingTables) {
    for (const from of [0, 1_000_000, 2_000_000]) {
      await pool.query(`ALTER TABLE sagapost.${table} DETACH PARTITION sagapost.${table}_from_${from}`)
      await pool.query(`DROP TABLE sagapost.${table}_from_${from}`)
    }
  }
  await addPartitions({ pool }, width, 0, count)
  for (const table of growingTables) await pool.query(`ALTER TABLE sagapost.${table} DISABLE TRIGGER ALL`)
}

/** Those of all growing tables for the ranges with these numbers. */
export async function addPartitions(
  { pool }: Pick<TestDatabase, 'pool'>,
  width: number,
  first: number,
  end: number,
): Promise<void> {
  for (const table of growingTables) {
    await pool.query(
      'SELECT sagapost.make_partition($1, number * $2, (number + 1) * $2) FROM generate_series($3::bigint, $4) AS number',
      [table, width, first, end - 1],
    )
  }
}
