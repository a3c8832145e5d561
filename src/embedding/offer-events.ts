import type pg from 'pg'
import { inTransaction, LOCK_TIMED_OUT } from '../database/index.js'
import { getEvent, listEvents, payloadText, type StoreOutcome, storeEvents } from '../delivery/index.js'
import { SagapostError } from '../errors/index.js'
import type { EventRefusal, NewEvent } from '../model/index.js'
import type { Context } from './context.js'
import type { EventOperations } from './operations.js'
import type { EventToPublish, PublishOutcome } from './types.js'

const EVENTS_PER_CALL_MAX = 1_000
/** The wait for a key locked by another transaction. It is bounded, as that may be the caller's own transaction. */
const KEY_WAIT_MS = 2_000

/** Reads under saga_readonly_role, stores under event_ingest_writer. */
export function offerEvents(context: Context): EventOperations {
  return {
    async publishMany(events) {
      if (events.length > EVENTS_PER_CALL_MAX) {
        const most = EVENTS_PER_CALL_MAX.toLocaleString('en')
        throw new SagapostError('event_invalid', `at most ${most} events are accepted in one call`)
      }
      const read = events.map(readEvent)
      const good = read.filter((event): event is NewEvent => !('refusal' in event))
      const stored = await store(context.pool('event_ingest_writer'), good)
      let next = 0
      const outcomes = read.map((event) => ('refusal' in event ? event : (stored[next++] as StoreOutcome)))
      if (outcomes.some((outcome) => 'id' in outcome && !outcome.duplicate)) context.wake('routing')
      return outcomes.map((outcome) => show(outcome, context))
    },
    async get(id) {
      const found = await getEvent(context.pool('saga_readonly_role'), id)
      if (found === null) return null
      const { payload, ...rest } = found
      return { ...rest, payloadJson: payload }
    },
    list: async (filter) => listEvents(context.pool('saga_readonly_role'), filter),
  }
}

async function store(pool: pg.Pool, events: readonly NewEvent[]): Promise<StoreOutcome[]> {
  if (events.every(({ idempotencyKey }) => idempotencyKey === undefined)) return storeEvents(pool, events)
  try {
    return await inTransaction(pool, (client) => storeEvents(client, events, { lockWaitMs: KEY_WAIT_MS }))
  } catch (error) {
    if ((error as { code?: string }).code !== LOCK_TIMED_OUT) throw error
    const detail = 'another transaction holds the key of one of the events; nothing was stored'
    throw new SagapostError('idempotency_key_busy', detail, { cause: error })
  }
}

function readEvent(event: EventToPublish): NewEvent | { refusal: EventRefusal } {
  const payload = payloadText(event)
  if (typeof payload !== 'string') return payload
  const { type, idempotencyKey, correlationId, traceparent } = event
  return {
    type,
    payload,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
    ...(correlationId !== undefined && { correlationId }),
    ...(traceparent !== undefined && { traceparent }),
  }
}

function show(outcome: StoreOutcome, { metrics }: Context): PublishOutcome {
  if ('refusal' in outcome) {
    const { code, field, detail } = outcome.refusal
    metrics.eventsIngested(code === 'idempotency_conflict' ? 'conflict' : 'refused', 1)
    return { error: { code, field, detail } }
  }
  metrics.eventsIngested(outcome.duplicate ? 'duplicate' : 'stored', 1)
  return outcome
}
