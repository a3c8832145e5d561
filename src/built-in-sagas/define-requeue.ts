import { type SagaDefinition, saga } from '../sagas/index.js'
import type { RequeueBatch } from './requeue-batch.js'

/** The request as the saga stores it; times are RFC 3339. */
export interface RequeueInput {
  subscriptionId?: string
  eventType?: string
  errorCode?: string
  from?: string
  to?: string
  all?: true
}

export interface RequeueWork {
  /** Null when this attempt is no longer the current one. */
  requeueBatch(sagaId: string, attempt: number): Promise<RequeueBatch | null>
  discard(sagaId: string): Promise<void>
  /** True when the process is stopping; another process continues the work. */
  isStopping(): boolean
}

/**
 * A crash, a restart or a minute without the database each use up an attempt, although none of them is a failure of the
 * work.
 */
const ATTEMPTS_MAX = 200
/** Per process: each running requeue keeps a connection busy. */
const AT_ONCE_MAX = 2

/**
 * Requeues the dead letters that a filter matches, batch by batch. It is one step: the remaining batches in the
 * database are its position, so that another coordinator continues where the last one stopped. A cancel does not undo
 * what was requeued.
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
