import type pg from 'pg'
import { type Finding, finding, fine } from './finding.js'

/** So many statements over all partitions shall fit at the same time: a list, a dump, an operator's own query and one more. */
const STATEMENTS_MIN = 4

// From the catalogue: the four growing tables, their partitions, and the indexes of both, as a plan over all of them locks
// them. PostgreSQL makes its table of locks of these settings at its start, and a little larger.
const selectLocks = `
  SELECT count(*)::int AS needed,
         current_setting('max_locks_per_transaction')::int AS per_transaction,
         current_setting('max_connections')::int + current_setting('max_prepared_transactions')::int AS transactions
  FROM pg_catalog.pg_class AS own
  LEFT JOIN pg_catalog.pg_index ON indexrelid = own.oid
  LEFT JOIN pg_catalog.pg_inherits ON inhrelid = coalesce(indrelid, own.oid)
  JOIN pg_catalog.pg_class AS growing ON growing.oid = coalesce(inhparent, indrelid, own.oid)
  WHERE own.relnamespace = 'sagapost'::regnamespace AND growing.relnamespace = own.relnamespace
    AND growing.relkind = 'p'
    AND growing.relname IN ('events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters')`

interface Locks {
  needed: number
  per_transaction: number
  transactions: number
}

/** Whether the table of locks is large enough for the partitions that are there. */
export async function examineLocks(pool: pg.Pool): Promise<Finding[]> {
  const { rows } = await pool.query<Locks>(selectLocks)
  const { needed, per_transaction, transactions } = rows[0] as Locks
  const room = per_transaction * transactions
  const detail = `a statement over all partitions takes ${needed} locks, and the settings of PostgreSQL make room for ${room}`
  if (needed * STATEMENTS_MIN <= room) return [fine('locks', detail)]
  const wanted = Math.ceil((needed * STATEMENTS_MIN) / transactions)
  return [
    finding(
      'locks',
      'lock_headroom_low',
      detail,
      `Set max_locks_per_transaction to at least ${wanted} in postgresql.conf and restart PostgreSQL; or drop old ranges: docs/operating/partitions.md`,
    ),
  ]
}
