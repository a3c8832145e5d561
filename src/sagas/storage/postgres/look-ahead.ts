import type pg from 'pg'
import { prepared } from '../../../database/index.js'
import type { Outlook, StateStorage } from '../state-storage.js'

/** migrations/0011; one entry of an index for each definition, and two more. */
export const lookAheadSql = prepared('SELECT news, due_in_ms FROM sagapost.look_ahead($1, $2)')

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
