import { type SagaDefinition, saga } from '../sagas/index.js'
import type { RequeueBatch } from './requeue-batch.js'

/** What the saga was asked for, as it keeps it: times as RFC 3339. */
export interface RequeueInput {
  subscriptionId?: string
  eventType?: string
  errorCode?: string
  from?: string
  to?: string
  all?: true
}

/** What its step does. */
export interface RequeueWork {
  /** Null: this attempt is not the one that runs. */
  requeueBatch(sagaId: string, attempt: number): Promise<RequeueBatch | null>
  discard(sagaId: string): Promise<void>
  /** The process is about to end: another one goes on. */
  isStopping(): boolean
}

/**
 * Every crash and every restart of a process takes an attempt, and so does a database that is away for a minute; none of
 * them says anything about the work.
 */
const ATTEMPTS_MAX = 200
/** Of one process: each keeps a connection busy. */
const AT_ONCE_MAX = 2

/**
 * Requeues what a filter has found, batch by batch. One step: its place is kept in the database, by the batches that are
 * left, so that whoever takes it over goes on where the last one was. What was requeued stays so when it is cancelled.
 */
export function defineRequeue(work: RequeueWork): SagaDefinition {
  return saga<RequeueInput>('sagapost.requeue-dead-letters', { version: 1, concurrency: AT_ONCE_MAX }).step(
    'requeue',
    {
      retry: { maxAttempts: ATTEMPTS_MAX, initialInterval: '500ms', maxInterval: '30s' },
      async run({ sagaId, attempt, signal }) {
        for (;;) {
          if (signal.aborted) throw signal.reason
          if (work.isStopping()) throw new Error('the process stops; another one goes on')
          const batch = await work.requeueBatch(sagaId, attempt)
          if (batch === null) throw new Error('another attempt has taken over')
          if (batch.progress.remaining === 0) return batch.progress
        }
      },
      compensate: ({ sagaId }) => work.discard(sagaId),
    },
  )
}
