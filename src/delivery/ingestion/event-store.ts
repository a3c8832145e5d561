import type pg from 'pg'
import type { Logger } from 'pino'
import { SagapostError } from '../../errors/index.js'
import type { NewEvent } from '../../model/index.js'
import { createGroupStore, type Item } from './group-store.js'
import type { StoreOutcome } from './store-events.js'

/** One commit takes at most so many: as large as a client's batch may be, it would make the first of them wait. */
const ITEMS_PER_FLUSH_MAX = 500
const BYTES_PER_FLUSH_MAX = 8 * 1024 * 1024
/** Two: while one commits, the next is on its way. With more of them the groups get smaller. */
const FLUSHES_AT_ONCE_MAX = 2
/**
 * While one is under way that has begun less than so long ago, the next begins with so many; fewer wait. Without this the
 * second one took the first few that came and left the crowd behind it: 14,300 to 16,100 posts a second instead of 11,800
 * to 13,600 over 64 connections, and a fifth less of PostgreSQL's CPU for each (docs/internals/performance.md).
 */
const FLUSH_WAITED_FOR_MS = 5
const ITEMS_BESIDE_YOUNG_MIN = 16
/** What may wait in memory; beyond it requests are told to come back. */
const WAITING_ITEMS_MAX = 20_000
const WAITING_BYTES_MAX = 128 * 1024 * 1024

export interface EventStore {
  /** Resolves when the event is committed, together with others that came at the same time. */
  store(event: NewEvent): Promise<StoreOutcome>
  /** A client's own batch, in commits of its own; item by item the outcome, or the error it failed with. */
  storeBatch(events: readonly NewEvent[]): Promise<(StoreOutcome | { error: unknown })[]>
}

export interface EventStoreOptions {
  /** Under the role event_ingest_writer. */
  pool: pg.Pool
  log: Logger
  /** Something new is stored: the router has work. */
  onEventsStored: () => void
  /** The ids have run past the partitions. */
  onPartitionMissing?: () => void
  flushWaitedForMs?: number
}

interface Lane {
  queue: Item[]
  flushes: number
  /** Those of them that are worth waiting for. */
  young: number
}

/**
 * Group commit: while a flush is under way, the events of other requests gather, and go together in the next one. So
 * clients that post one event at a time get the throughput of batches, and a lone event waits for a few milliseconds at most.
 */
export function createEventStore({
  pool,
  log,
  onEventsStored,
  onPartitionMissing = () => {},
  flushWaitedForMs = FLUSH_WAITED_FOR_MS,
}: EventStoreOptions): EventStore {
  // Events without a key never wait for a lock, so they have a lane where nobody does.
  const lanes = { plain: newLane(), keyed: newLane() }
  let waitingItems = 0
  let waitingBytes = 0

  const groups = createGroupStore({
    pool,
    onPartitionMissing,
    onCommitted(stored) {
      log.debug(stored, 'events stored')
      if (stored.events > 0) onEventsStored()
    },
  })

  const flush = async (lane: Lane): Promise<void> => {
    if (lane.queue.length === 0 || lane.flushes >= FLUSHES_AT_ONCE_MAX) return
    if (lane.young > 0 && lane.queue.length < ITEMS_BESIDE_YOUNG_MIN) return
    const items = takeGroup(lane.queue)
    let isYoung = true
    const age = () => {
      if (isYoung) lane.young -= 1
      isYoung = false
    }
    lane.flushes += 1
    lane.young += 1
    const patience = setTimeout(() => {
      age()
      void flush(lane)
    }, flushWaitedForMs)
    await groups.store(items)
    clearTimeout(patience)
    age()
    lane.flushes -= 1
    void flush(lane)
  }

  /** Throws when too much waits already. */
  const refuseOverload = () => {
    if (waitingItems >= WAITING_ITEMS_MAX || waitingBytes >= WAITING_BYTES_MAX) {
      throw new SagapostError('overloaded', `${waitingItems} events wait to be stored already`)
    }
  }

  /** The event, counted in until its fate is known. */
  const admit = (
    event: NewEvent,
    settle: (outcome: StoreOutcome) => void,
    fail: (error: unknown) => void,
  ): Item => {
    let isIn = true
    const leave = () => {
      if (!isIn) return
      isIn = false
      waitingItems -= 1
      waitingBytes -= event.payload.length
    }
    waitingItems += 1
    waitingBytes += event.payload.length
    return {
      event,
      settle(outcome) {
        leave()
        settle(outcome)
      },
      fail(error) {
        leave()
        fail(error)
      },
    }
  }

  return {
    store: (event) =>
      new Promise((settle, fail) => {
        refuseOverload()
        const lane = event.idempotencyKey === undefined ? lanes.plain : lanes.keyed
        lane.queue.push(admit(event, settle, fail))
        // After the requests that came in the same turn of the loop.
        setImmediate(() => void flush(lane))
      }),

    async storeBatch(events) {
      refuseOverload()
      const items: Item[] = []
      const outcomes = events.map(
        (event) =>
          new Promise<StoreOutcome | { error: unknown }>((settle) => {
            items.push(admit(event, settle, (error) => settle({ error })))
          }),
      )
      await groups.store(items)
      return Promise.all(outcomes)
    },
  }
}

function newLane(): Lane {
  return { queue: [], flushes: 0, young: 0 }
}

function takeGroup(queue: Item[]): Item[] {
  let bytes = 0
  let count = 0
  for (const { event } of queue) {
    bytes += event.payload.length
    if (count > 0 && (count >= ITEMS_PER_FLUSH_MAX || bytes > BYTES_PER_FLUSH_MAX)) break
    count += 1
  }
  return queue.splice(0, count)
}
