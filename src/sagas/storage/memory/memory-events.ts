import { toHistoryEvent } from '../../history-events.js'
import type { Publication, SagaEventRecord } from '../../records.js'
import { deliveryTopic } from '../../topics.js'
import type { AwaitedDeliveries, StateStorage } from '../state-storage.js'
import type { Kept } from './memory-storage.js'

/** An event that a saga published. */
export interface PublishedEvent {
  readonly id: string
  readonly sagaId: string
  readonly type: string
  readonly payload: unknown
}

/** The states of an event's deliveries. */
export interface DeliveryCounts {
  readonly completed?: number
  readonly deadLettered?: number
  /** Deliveries that have not ended. */
  readonly open?: number
}

export interface MemoryEvents extends Pick<StateStorage, 'findDeliveries'> {
  readonly published: readonly PublishedEvent[]
  /** Publishes an entry of a saga's history. */
  tell(kept: Kept, entry: SagaEventRecord): void
  /** Publishes the event of a step that begins to wait; only the first one counts. */
  post(sagaId: string, publication: Publication): void
  /** Reports the topics whose deliveries have ended, or were requeued, since the last call. */
  passNewsOn(tell: (topic: string) => void): void
}

/** The equivalent of events, deliveries and saga_awaited_events on PostgreSQL. */
export function keepEvents(deliveriesOf: (event: PublishedEvent) => DeliveryCounts): MemoryEvents {
  const published: PublishedEvent[] = []
  const awaited = new Map<string, { event: PublishedEvent; told: string }>()

  const publish = (event: Omit<PublishedEvent, 'id'>): PublishedEvent => {
    const made = { id: String(published.length + 1), ...event }
    published.push(made)
    return made
  }

  const look = (event: PublishedEvent): AwaitedDeliveries => {
    const { completed = 0, deadLettered: dead = 0, open = 0 } = deliveriesOf(event)
    return { eventId: event.id, standing: standingOf(open, dead), completed, dead }
  }

  return {
    published,
    tell(kept, entry) {
      publish({ sagaId: kept.saga.id, ...toHistoryEvent(kept, entry) })
    },
    post(sagaId, { stepIndex, type, payload }) {
      const topic = deliveryTopic(sagaId, stepIndex)
      const event = awaited.get(topic)?.event ?? publish({ sagaId, type, payload: JSON.parse(payload) })
      awaited.set(topic, { event, told: 'open' })
    },
    async findDeliveries(steps) {
      const topics = steps.map(({ sagaId, stepIndex }) => deliveryTopic(sagaId, stepIndex))
      return new Map(
        topics.flatMap((topic) => {
          const known = awaited.get(topic)
          return known ? [[topic, look(known.event)] as const] : []
        }),
      )
    },
    passNewsOn(tell) {
      for (const [topic, known] of awaited) {
        const { standing, dead } = look(known.event)
        const news = standing === 'dead' ? `dead ${dead}` : standing
        if (news === known.told) continue
        known.told = news
        tell(topic)
      }
    },
  }
}

function standingOf(open: number, dead: number): AwaitedDeliveries['standing'] {
  if (dead > 0) return 'dead'
  return open > 0 ? 'open' : 'completed'
}
