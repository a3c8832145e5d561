import type pg from 'pg'
import type { Logger } from 'pino'
import { SagapostError } from '../../errors/index.js'
import type { NewEvent } from '../../model/index.js'
import { createGroupStore, type Item } from './group-store.js'
import type { StoreOutcome } from './store-events.js'

/** Items per commit. A larger client batch is split, so that its first events do not wait for the last. */
const ITEMS_PER_FLUSH_MAX = 500
const BYTES_PER_FLUSH_MAX = 8 * 1024 * 1024
/** Two: while one flush commits, the next is on its way. With more, the groups get smaller. */
const FLUSHES_AT_ONCE_MAX = 2
/**
 * While a flush younger than this is under way, the next one starts only with a group of a minimum size. Without the
 * wait, it took only the first few arrivals. Over 64 connections: 14,300 to 16,100 posts a second instead of 11,800 to
 * 13,600, with a fifth less PostgreSQL CPU for each (docs/internals/performance.md).
 */
const FLUSH_WAITED_FOR_MS = 5
const ITEMS_BESIDE_YOUNG_MIN = 16
/** Items that may wait in memory. Beyond this limit, clients get an error that asks them to retry. */
const WAITING_ITEMS_MAX = 20_000
const WAITING_BYTES_MAX = 128 * 1024 * 1024

export interface EventStore {
  /** Resolves when the event is committed, together with others that arrived at the same time. */
  store(event: NewEvent): Promise<StoreOutcome>
  /** Stores a client's batch in its own commits. Returns an outcome or an error for each item. */
  storeBatch(events: readonly NewEvent[]): Promise<(StoreOutcome | { error: unknown })[]>
}

export interface EventStoreOptions {
  /** Under the role event_ingest_writer. */
  pool: pg.Pool
  log: Logger
  /** Called when new events are stored, so that the router wakes. */
  onEventsStored: () => void
  /** Called when event ids have passed the last partition. */
  onPartitionMissing?: () => void
  flushWaitedForMs?: number
}

interface Lane {
  queue: Item[]
  flushes: number
  /** The flushes young enough to wait for. */
  young: number
}

/**
 * Group commit: while a flush is under way, events of other requests gather for the next one. Clients that post one
 * event at a time get the throughput of batches, and a lone event waits a few milliseconds at most.
 */
export function createEventStore({
  pool,
  log,
  onEventsStored,
  onPartitionMissing = () => {},
  flushWaitedForMs = FLUSH_WAITED_FOR_MS,
}: EventStoreOptions): EventStore {
  // Events without a key never wait for a lock, so they have their own lane.
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

  /** Throws when too many items are waiting. */
  const refuseOverload = () => {
    if (waitingItems >= WAITING_ITEMS_MAX || waitingBytes >= WAITING_BYTES_MAX) {
      throw new SagapostError('overloaded', `${waitingItems} events wait to be stored already`)
    }
  }

  /** Counts the event as waiting until its outcome is known. */
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
        // Runs after the requests that arrived in the same turn of the event loop.
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
