import type { StoreOutcome } from '../delivery/index.js'
import { logFields } from '../observability/index.js'
import type { ApiOptions } from './api.js'
import type { ReadEvent } from './read-events.js'

export type NoteIngested = (event: ReadEvent, outcome: StoreOutcome) => void

/** [O5] Counts each outcome and logs a line with the event's correlation id. */
export function noteIngested({ log, metrics }: Pick<ApiOptions, 'log' | 'metrics'>): NoteIngested {
  return (event, outcome) => {
    if ('refusal' in outcome) {
      const { code } = outcome.refusal
      metrics?.eventsIngested(code === 'idempotency_conflict' ? 'conflict' : 'refused', 1)
      log.debug({ error_code: code }, 'event refused')
      return
    }
    metrics?.eventsIngested(outcome.duplicate ? 'duplicate' : 'stored', 1)
    if (!log.isLevelEnabled('debug')) return
    const given = 'refusal' in event ? undefined : event.correlationId
    log.debug(
      {
        ...logFields({ eventId: outcome.id, webhookId: outcome.webhookId, correlationId: given ?? null }),
        event_type: outcome.type,
      },
      outcome.duplicate ? 'event known already' : 'event stored',
    )
  }
}
