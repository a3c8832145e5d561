import { isDeepStrictEqual } from 'node:util'
import type pg from 'pg'
import { type DataBox, DataUnreadableError, isSealed } from '../../data-box.js'
import { decodeJson } from '../../json.js'
import { signalTopic } from '../../topics.js'
import type { ArrivedSignal, NewSignal, SignalName, SignalOutcome } from '../state-storage.js'

type Queryable = Pick<pg.ClientBase, 'query'> | pg.Pool

/**
 * migrations/0011: one statement, in whichever transaction it is called. Its login need not be able to read signals, and
 * its session may write times as it likes: JSON has one way.
 */
const keepSignal = `
  SELECT to_json(kept)::text AS kept,
         has_column_privilege('sagapost.saga_signals', 'payload', 'SELECT')::text AS readable
  FROM sagapost.signal($1, $2, $3) AS kept`

/** The same in a transaction of its own, with a lock_timeout: docs/internals/hot-statements.md#settings-before-a-function. */
const keepSignalAlone = `
  WITH limited AS MATERIALIZED (SELECT set_config('lock_timeout', $4, true) AS wait)
  SELECT to_json(kept)::text AS kept,
         has_column_privilege('sagapost.saga_signals', 'payload', 'SELECT')::text AS readable
  FROM limited
  CROSS JOIN LATERAL sagapost.signal(CASE WHEN limited.wait <> '' THEN $1::text END, $2, $3::json) AS kept`

/** By the primary key. */
export const selectSignals = `
  SELECT kept.name, kept.key, kept.payload::text AS payload
  FROM unnest($1::text[], $2::text[]) AS wanted (name, key)
  JOIN sagapost.saga_signals AS kept ON kept.name = wanted.name AND kept.key = wanted.key`

/** migrations/0011: notes what deliveries have come to; from idx_saga_awaited_look. */
const noteDeliveries = 'SELECT sagapost.note_deliveries($1) AS count'

/** migrations/0011; by the primary key of saga_wakeups, which is empty but for a moment, and idx_step_waits_for. */
const wakeSagas = 'SELECT sagapost.wake_sagas($1) AS count'

/**
 * The oldest first, from idx_saga_signals_expires; one that a saga still has to read stays: idx_step_waits_for. One that
 * comes anew at this moment is locked by its sender, however long that takes, and passed over.
 */
export const deleteSignals = `
  DELETE FROM sagapost.saga_signals WHERE ctid = ANY (ARRAY(
    SELECT kept.ctid FROM sagapost.saga_signals AS kept
    WHERE expires_at < sagapost.now()
      AND NOT EXISTS (
        SELECT FROM sagapost.saga_steps
        WHERE waits_for = 'signal:' || kept.name || ':' || kept.key AND state IN (1, 4))
    ORDER BY expires_at
    LIMIT $1
    FOR UPDATE OF kept SKIP LOCKED))`

/** As JSON, which has no dates. */
interface KeptSignal {
  created: boolean
  received_at: string
  expires_at: string
  same: boolean | null
}

export async function signal(
  client: Queryable,
  { name, key, payload }: NewSignal,
  box: DataBox,
  lockTimeout?: string,
): Promise<SignalOutcome> {
  const place = { sagaId: signalTopic(name, key), column: 'payload' } as const
  const sealed = payload === undefined ? null : box.seal(payload, place)
  const { rows } = (await (lockTimeout === undefined
    ? client.query(keepSignal, [name, key, sealed])
    : client.query(keepSignalAlone, [name, key, sealed, lockTimeout]))) as pg.QueryResult<{
    kept: string
    readable: string
  }>
  const row = rows[0]
  // Only under REPEATABLE READ: the first signal was committed after this transaction's snapshot was taken.
  if (row === undefined) throw new Error(`the signal ${name} cannot be seen by this transaction`)
  const { created, ...kept } = JSON.parse(row.kept) as KeptSignal
  const readable = row.readable === 'true'
  const same = kept.same ?? (readable ? await compareSealed(client, { name, key, payload }, box) : undefined)
  return { created, receivedAt: new Date(kept.received_at), expiresAt: new Date(kept.expires_at), same }
}

/** Compares with the stored signal when one of the two is encrypted. Undefined: this process lacks the key. */
async function compareSealed(
  client: Queryable,
  { name, key, payload }: NewSignal,
  box: DataBox,
): Promise<boolean | undefined> {
  const { rows } = (await client.query(selectSignals, [[name], [key]])) as pg.QueryResult<{
    payload: string | null
  }>
  const first = rows[0] && open(signalTopic(name, key), rows[0].payload, box)
  if (first === undefined || 'unreadable' in first || isSealed(first.payload)) return undefined
  return isDeepStrictEqual(first.payload, decodeJson(payload))
}

export async function findSignals(
  pool: pg.Pool,
  wanted: readonly SignalName[],
  box: DataBox,
): Promise<Map<string, ArrivedSignal>> {
  const names = wanted.map(({ name }) => name)
  const keys = wanted.map(({ key }) => key)
  const { rows } = await pool.query<{ name: string; key: string; payload: string | null }>(selectSignals, [
    names,
    keys,
  ])
  return new Map(
    rows.map(({ name, key, payload }) => {
      const topic = signalTopic(name, key)
      return [topic, open(topic, payload, box)]
    }),
  )
}

/** A sender may store a payload that only looks sealed. */
function open(topic: string, payload: string | null, box: DataBox): ArrivedSignal {
  if (payload === null) return { payload: undefined }
  try {
    return { payload: decodeJson(box.open(payload, { sagaId: topic, column: 'payload' })) }
  } catch (error) {
    if (error instanceof DataUnreadableError) return { unreadable: error }
    throw error
  }
}

/** Two transactions, so that neither waits for the other's locks or fails with it. */
export async function passNewsOn(pool: pg.Pool, limit: number): Promise<boolean> {
  const isFull = async (statement: string) => {
    const { rows } = await pool.query<{ count: number }>(statement, [limit])
    return (rows[0]?.count ?? 0) >= limit
  }
  let more = false
  try {
    more = await isFull(noteDeliveries)
  } finally {
    more = (await isFull(wakeSagas)) || more
  }
  return more
}

export async function cleanUpSignals(pool: pg.Pool, limit: number): Promise<number> {
  const { rowCount } = await pool.query(deleteSignals, [limit])
  return rowCount ?? 0
}
