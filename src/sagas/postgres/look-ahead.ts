import type pg from 'pg'
import { prepared } from '../../database/index.js'
import type { Outlook, StateStorage } from '../state-storage.js'

/**
 * The first entry of saga_wakeups_pkey, of idx_saga_awaited_look, and of idx_saga_runnable for each definition: a fraction
 * of what it costs to find nothing by the statements that would move something.
 */
export const lookAheadSql = prepared(`
  SELECT (SELECT min(id) FROM sagapost.saga_wakeups) IS NOT NULL
           OR coalesce((SELECT min(look_at) FROM sagapost.saga_awaited_events WHERE look_at IS NOT NULL)
             <= sagapost.now(), false) AS news,
         (SELECT ceil(extract(epoch FROM min(next.wake_at) - sagapost.now()) * 1000)
          FROM unnest($1::text[], $2::int[]) AS wanted (definition_id, definition_version)
          CROSS JOIN LATERAL (
            SELECT wake_at FROM sagapost.saga_instances AS saga
            WHERE saga.definition_id = wanted.definition_id AND saga.definition_version = wanted.definition_version
              AND saga.state IN (0, 1, 2, 4) AND saga.wake_at IS NOT NULL
            ORDER BY saga.wake_at
            LIMIT 1
          ) AS next)::float8 AS due_in_ms`)

export async function lookAhead(
  pool: pg.Pool,
  definitions: Parameters<StateStorage['lookAhead']>[0],
): Promise<Outlook> {
  const { rows } = await pool.query<{ news: boolean; due_in_ms: number | null }>(lookAheadSql, [
    definitions.map(({ name }) => name),
    definitions.map(({ version }) => version),
  ])
  const { news = false, due_in_ms: dueInMs = null } = rows[0] ?? {}
  return { news, dueInMs: dueInMs === null ? null : Math.max(0, dueInMs) }
}
