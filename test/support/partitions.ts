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
    for (let index = 0; index < count; index++) {
      await pool.query('SELECT sagapost.make_partition($1, $2, $3)', [
        table,
        index * width,
        (index + 1) * width,
      ])
    }
    await pool.query(`ALTER TABLE sagapost.${table} DISABLE TRIGGER ALL`)
  }
}
