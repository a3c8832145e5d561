import type pg from 'pg'
import { readRangesOf } from '../../database/index.js'
import { eventTimeUs, webhookIdOf } from '../../model/index.js'

/** By events_pkey, one by one, each in its own partition: docs/internals/hot-statements.md#limits-inside. */
export const selectEventTimes = `
  SELECT wanted.id, found.at_us
  FROM unnest($1::bigint[]) AS wanted (id)
  CROSS JOIN LATERAL (
    SELECT ${eventTimeUs} AS at_us FROM sagapost.events AS event WHERE event.id = wanted.id /* range of event.id */ LIMIT 1
  ) AS found`

/** The webhook ids of events, by event id. An event whose partition has been removed is absent. */
export async function readWebhookIds(
  pool: pg.Pool,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = [...new Set(eventIds)]
  if (wanted.length === 0) return new Map()
  const rows = await readRangesOf<{ id: string; at_us: number }>(pool, selectEventTimes, wanted)
  return new Map(rows.map(({ id, at_us }) => [id, webhookIdOf(id, at_us)]))
}
