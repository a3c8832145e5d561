import type pg from 'pg'
import { prepared } from '../database/index.js'
import { PAYLOAD_BYTES_READ_MAX } from '../events/index.js'

/**
 * What all of them may hold before the next one is read, however many jobs wait: one hundred payloads of 16 MiB at
 * once ended the process. With the last one read it is 80 MiB at the most.
 */
const HELD_BYTES_MAX = 64 * 1024 * 1024

// By events_pkey in one partition. OFFSET 0: the text is made once, and not for each place that has it. One whose stored
// size is too large is not even read by PostgreSQL.
const selectPayload = prepared(`
  SELECT octet_length(text) AS bytes, CASE WHEN octet_length(text) <= $2 THEN text END AS payload
  FROM (
    SELECT CASE WHEN pg_column_size(payload) <= $2 THEN payload::text END AS text
    FROM sagapost.events WHERE id = $1 OFFSET 0
  ) AS event`)

export interface LargePayloads {
  /** Reads the payload when its turn comes and holds it until the work is done. Null: it is too large to be read. */
  with<Result>(eventId: string, work: (payload: string | null) => Promise<Result>): Promise<Result>
}

/** Payloads that do not come with the claim: read one after the other, and as many at a time as fit into the memory. */
export function createLargePayloads(pool: pg.Pool, heldBytesMax = HELD_BYTES_MAX): LargePayloads {
  let heldBytes = 0
  let turn: Promise<unknown> = Promise.resolve()
  let onReleased = () => {}

  async function read(eventId: string): Promise<{ payload: string | null; bytes: number }> {
    while (heldBytes >= heldBytesMax) {
      await new Promise<void>((resolve) => {
        onReleased = resolve
      })
    }
    const { rows } = await pool.query<{ payload: string | null; bytes: number | null }>(selectPayload, [
      eventId,
      PAYLOAD_BYTES_READ_MAX,
    ])
    const [row] = rows
    if (!row) throw new Error(`event ${eventId} is not there any more`)
    const { payload } = row
    const bytes = payload === null ? 0 : (row.bytes ?? 0)
    heldBytes += bytes
    return { payload, bytes }
  }

  return {
    async with(eventId, work) {
      const reading = turn.then(() => read(eventId))
      turn = reading.catch(() => {})
      const { payload, bytes } = await reading
      try {
        return await work(payload)
      } finally {
        heldBytes -= bytes
        onReleased()
      }
    },
  }
}
