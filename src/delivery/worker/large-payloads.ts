import type pg from 'pg'
import { inRange, prepared, rangeOf, type WorkWindow } from '../../database/index.js'
import { PAYLOAD_BYTES_READ_MAX } from '../../model/index.js'

/**
 * How many bytes all large payloads may hold before the next one is read: one hundred payloads of 16 MiB at once ended
 * the process. With the last one read, the total is at most 80 MiB.
 */
const HELD_BYTES_MAX = 64 * 1024 * 1024

// By events_pkey in one partition; a payload whose stored size is too large is not read. OFFSET 0: the text is made once
// (docs/internals/hot-statements.md: limits inside).
const selectPayload = prepared(`
  SELECT octet_length(text) AS bytes, CASE WHEN octet_length(text) <= $4 THEN text END AS payload
  FROM (
    SELECT CASE WHEN pg_column_size(payload) <= $4 THEN payload::text END AS text
    FROM sagapost.events WHERE id >= $1 AND id < $2 AND id = $3 OFFSET 0
  ) AS event`)

export interface LargePayloads {
  /**
   * Reads the payload in turn and holds its memory until the work is done. The work gets null when the payload is too
   * large to be read. The result is null when `isOver` by then: nothing is read and no work starts.
   */
  with<Result>(
    eventId: string,
    work: (payload: string | null) => Promise<Result>,
    isOver?: () => boolean,
  ): Promise<Result | null>
}

/** Payloads too large to come with the claim: read one after another, and only as many as fit into the memory limit. */
export function createLargePayloads(
  pool: pg.Pool,
  window: () => WorkWindow,
  heldBytesMax = HELD_BYTES_MAX,
): LargePayloads {
  let heldBytes = 0
  let turn: Promise<unknown> = Promise.resolve()
  let onReleased = () => {}

  async function read(
    eventId: string,
    isOver: () => boolean,
  ): Promise<{ payload: string | null; bytes: number } | null> {
    while (heldBytes >= heldBytesMax) {
      await new Promise<void>((resolve) => {
        onReleased = resolve
      })
    }
    if (isOver()) return null
    const range = rangeOf(window(), eventId)
    const { rows } = await pool.query<{ payload: string | null; bytes: number | null }>(
      inRange(selectPayload, range),
      [range.from, range.to, eventId, PAYLOAD_BYTES_READ_MAX],
    )
    const [row] = rows
    if (!row) throw new Error(`event ${eventId} is not there any more`)
    const { payload } = row
    const bytes = payload === null ? 0 : (row.bytes ?? 0)
    heldBytes += bytes
    return { payload, bytes }
  }

  return {
    async with(eventId, work, isOver = () => false) {
      const reading = turn.then(() => read(eventId, isOver))
      turn = reading.catch(() => {})
      const held = await reading
      if (held === null) return null
      try {
        return isOver() ? null : await work(held.payload)
      } finally {
        heldBytes -= held.bytes
        onReleased()
      }
    },
  }
}
