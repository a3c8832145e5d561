import type pg from 'pg'
import { databaseErrorCode, LOCK_TIMED_OUT, onConnection } from '../../database/index.js'
import { SagapostError } from '../../errors/index.js'
import type { NewEvent } from '../../model/index.js'
import { type StoreOutcome, storeOnce } from './store-events.js'

/** An event whose request waits for the outcome. */
export interface Item {
  event: NewEvent
  settle(outcome: StoreOutcome): void
  fail(error: unknown): void
}

/**
 * How long a group waits for a key that another transaction holds, before it is split to find the blocked item. Other
 * servers hold a key for one commit; an application may hold it for any time.
 */
const GROUP_LOCK_WAIT_MS = 50
/**
 * The blocked item then waits alone for this long, without delaying others; after that the client is asked to retry.
 */
const LONE_LOCK_WAIT_MS = 2_000
/** Each lone wait takes a connection; beyond this number, clients are asked immediately to retry. */
const LONE_WAITS_MAX = 4

/** Errors of data or integrity: they concern one event and say nothing about the others. */
const ITEM_ERRORS = /^(22|23|54|SP)/

export interface GroupStore {
  /** Stores what it can. Each item is settled or rejected as soon as its own outcome is known. Never throws. */
  store(items: readonly Item[]): Promise<void>
}

export interface GroupStoreOptions {
  /** Under the role event_ingest_writer. */
  pool: pg.Pool
  /** Called when no event can be stored until the next partition exists. */
  onPartitionMissing(): void
  /** Called after each commit with the counts of what it stored. */
  onCommitted(stored: { events: number; duplicates: number; refused: number; tookMs: number }): void
}

/**
 * Stores events in as few commits as possible without letting a bad event fail its neighbours: a group that fails
 * because of one item is halved until that item is alone, and the good halves commit on the way. Items that share a key
 * stay together: they are one event and its repetitions.
 */
export function createGroupStore({ pool, onPartitionMissing, onCommitted }: GroupStoreOptions): GroupStore {
  /** Keys that a lone item waits for, with the items that have arrived for the same key since. */
  const waiting = new Map<string, Item[]>()

  /** Settles the items whose outcome is known and returns the others, which must be stored again. */
  const commit = async (items: readonly Item[], lockWaitMs: number): Promise<readonly Item[]> => {
    const events = items.map(({ event }) => event)
    const startedAt = performance.now()
    // The payloads were cut out of a body by scan-json.ts, which takes exactly what JSON.parse takes.
    const options = { isJson: true, lockWaitMs }
    const outcomes = await onConnection(pool, (client) => storeOnce(client, events, options))
    const counts = { events: 0, duplicates: 0, refused: 0 }
    for (const [index, item] of items.entries()) {
      const outcome = outcomes[index]
      if (outcome === undefined) continue
      counts[kindOf(outcome)] += 1
      item.settle(outcome)
    }
    onCommitted({ ...counts, tookMs: Math.round(performance.now() - startedAt) })
    return items.filter((_, index) => outcomes[index] === undefined)
  }

  const waitAlone = async (key: string, items: readonly Item[]): Promise<void> => {
    if (waiting.size >= LONE_WAITS_MAX) return failAll(items, keyBusy(key))
    const late: Item[] = []
    waiting.set(key, late)
    let failure: unknown
    let left = items
    try {
      while (left.length > 0) left = await commit(left, LONE_LOCK_WAIT_MS)
    } catch (error) {
      failure = sqlState(error) === LOCK_TIMED_OUT ? keyBusy(key) : error
      failAll(left, failure)
    }
    waiting.delete(key)
    if (late.length === 0) return
    if (failure === undefined) await store(late)
    else failAll(late, failure)
  }

  /** In waves, so that the large good halves commit before the search continues in the bad one. */
  const store = async (items: readonly Item[]): Promise<void> => {
    const alone: Promise<void>[] = []
    const groups: (readonly Item[])[] = [
      waiting.size === 0 ? items : items.filter((item) => !joinWaiting(item)),
    ]
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      if (group.length === 0) continue
      try {
        groups.push(await commit(group, GROUP_LOCK_WAIT_MS))
      } catch (error) {
        const key = group[0]?.event.idempotencyKey
        const state = sqlState(error)
        const units = byKey(group)
        if (databaseErrorCode(error) === 'partition_missing') {
          onPartitionMissing()
          failAll(group, explained(error))
        } else if (state !== LOCK_TIMED_OUT && !ITEM_ERRORS.test(state)) failAll(group, error)
        else if (units.length > 1) {
          const middle = Math.ceil(units.length / 2)
          groups.push(units.slice(0, middle).flat(), units.slice(middle).flat())
        } else if (state === LOCK_TIMED_OUT && key !== undefined) alone.push(waitAlone(key, group))
        else failAll(group, explained(error))
      }
    }
    // The caller may go on with other groups; only a batch waits for all of its items, through their own promises.
    void Promise.all(alone)
  }

  const joinWaiting = (item: Item): boolean => {
    const key = item.event.idempotencyKey
    const late = key === undefined ? undefined : waiting.get(key)
    late?.push(item)
    return late !== undefined
  }

  return { store }
}

/** Groups items with the same key; every other item is its own group. */
function byKey(items: readonly Item[]): Item[][] {
  const units: Item[][] = []
  const unitOf = new Map<string, Item[]>()
  for (const item of items) {
    const key = item.event.idempotencyKey
    const known = key === undefined ? undefined : unitOf.get(key)
    if (known) known.push(item)
    else {
      const unit = [item]
      units.push(unit)
      if (key !== undefined) unitOf.set(key, unit)
    }
  }
  return units
}

function kindOf(outcome: StoreOutcome): 'events' | 'duplicates' | 'refused' {
  if ('refusal' in outcome) return 'refused'
  return outcome.duplicate ? 'duplicates' : 'events'
}

function failAll(items: readonly Item[], error: unknown): void {
  for (const { fail } of items) fail(error)
}

function sqlState(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Explains a refusal by the database of an event that passed the checks of this process. */
function explained(error: unknown): unknown {
  const code = databaseErrorCode(error)
  return code === undefined ? error : new SagapostError(code, (error as Error).message, { cause: error })
}

function keyBusy(key: string): SagapostError {
  return new SagapostError(
    'idempotency_key_busy',
    `Another transaction holds the key "${key}" and has not ended; nothing was stored for this request`,
  )
}
