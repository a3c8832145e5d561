import type pg from 'pg'
import type { Wakeups } from '../loop/index.js'
import type { Recorders } from '../observability/index.js'
import type { SagaDefinition } from '../sagas/index.js'
import { defineRequeue } from './define-requeue.js'
import { defineSecretRotation } from './define-secret-rotation.js'
import { discardEndedRequeues } from './discard-ended-requeues.js'
import { removeEndedSecrets } from './remove-ended-secrets.js'
import { discardRequeue, requeueBatch } from './requeue-batch.js'

export interface BuiltInSagas {
  definitions: readonly SagaDefinition[]
  /**
   * Removes what cancelled sagas leave behind: the plans of requeues, and ended secrets. Cheap when there is nothing to
   * remove.
   */
  cleanUp(): Promise<void>
  /** Stops long-running steps after their current batch. */
  stop(): void
}

/** Sagapost's own long-running work. Every process with the part `sagas` runs it, under the role saga_app_role. */
export function defineBuiltInSagas({
  pool,
  metrics,
  wakeups,
}: {
  pool: pg.Pool
  metrics: Pick<Recorders, 'requeued'>
  wakeups: Pick<Wakeups, 'wake'>
}): BuiltInSagas {
  let stopping = false
  const requeue = defineRequeue({
    async requeueBatch(sagaId, attempt) {
      const batch = await requeueBatch(pool, sagaId, attempt)
      if (batch && batch.requeued > 0) {
        metrics.requeued(true, batch.requeued)
        wakeups.wake('first-jobs')
      }
      return batch
    },
    discard: (sagaId) => discardRequeue(pool, sagaId),
    isStopping: () => stopping,
  })
  return {
    definitions: [requeue, defineSecretRotation(() => removeEndedSecrets(pool))],
    async cleanUp() {
      await discardEndedRequeues(pool)
      await removeEndedSecrets(pool)
    },
    stop() {
      stopping = true
    },
  }
}
