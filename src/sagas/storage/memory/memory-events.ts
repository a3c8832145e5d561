import { toHistoryEvent } from '../../history-events.js'
import type { Publication, SagaEventRecord } from '../../records.js'
import { deliveryTopic } from '../../topics.js'
import type { AwaitedDeliveries, StateStorage } from '../state-storage.js'
import type { Kept } from './memory-storage.js'

/** An event that a saga has published. */
export interface PublishedEvent {
  readonly id: string
  readonly sagaId: string
  readonly type: string
  readonly payload: unknown
}

/** How the deliveries of an event stand. */
export interface DeliveryCounts {
  readonly completed?: number
  readonly deadLettered?: number
  /** Still to be made. */
  readonly open?: number
}

export interface MemoryEvents extends Pick<StateStorage, 'findDeliveries'> {
  readonly published: readonly PublishedEvent[]
  /** An entry of a history that is published. */
  tell(kept: Kept, entry: SagaEventRecord): void
  /** The event of a step that begins to wait; only the first one counts. */
  post(sagaId: string, publication: Publication): void
  /** Tells the topics whose deliveries have ended, or are under way again, since this was last asked. */
  passNewsOn(tell: (topic: string) => void): void
}

/** What events, their deliveries and saga_awaited_events are on PostgreSQL. */
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
