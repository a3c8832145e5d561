import type pg from 'pg'
import type { Logger } from 'pino'
import type { EventRange, WorkWindow } from '../database/index.js'
import { type Loop, startLoop, type Wakeups } from '../loop/index.js'
import { applyResults, makeJobs, type RetryPolicy } from '../orchestrator/index.js'

const RESULTS_PER_BATCH_MAX = 500
const JOBS_PER_BATCH_MAX = 500

export interface OrchestratorOptions {
  /** Under the role saga_orchestrator. */
  pool: pg.Pool
  window: () => WorkWindow
  wakeups: Wakeups
  log: Logger
  policy: RetryPolicy
  pollMs: number
}

/** The loop that moves sagas: applies results, makes first and retry jobs, wakes the workers. */
export function startOrchestrator({ pool, window, wakeups, log, policy, pollMs }: OrchestratorOptions): Loop {
  async function orchestrate(range: EventRange): Promise<boolean> {
    const applied = await applyResults(pool, { range, batchMax: RESULTS_PER_BATCH_MAX, policy })
    for (const result of applied) {
      const fields = {
        saga_id: result.sagaId,
        job_id: result.jobId,
        event_id: result.eventId,
        error_code: result.errorCode,
        attempt_count: result.attemptCount,
        correlation_id: result.correlationId ?? `evt_${result.eventId}`,
      }
      if (result.status === 'DeadLettered') log.warn(fields, 'delivery dead-lettered')
      else log.debug({ ...fields, status: result.status }, 'result applied')
    }
    const made = await makeJobs(pool, { range, batchMax: JOBS_PER_BATCH_MAX, limit: policy.limit })
    if (made.jobs > 0) wakeups.wake('claims')
    return applied.length === RESULTS_PER_BATCH_MAX || made.jobs >= JOBS_PER_BATCH_MAX
  }

  const loop = startLoop({
    round: async () => {
      const { fresh, older } = window()
      const more = await orchestrate(fresh)
      return (older ? await orchestrate(older) : false) || more
    },
    idleMs: pollMs,
    onError: (error) => log.error({ err: error }, 'orchestrating failed; will try again'),
  })
  const unsubscribe = [wakeups.onWake('first-jobs', loop.wake), wakeups.onWake('results', loop.wake)]
  return {
    wake: loop.wake,
    async stop() {
      for (const each of unsubscribe) each()
      await loop.stop()
    },
  }
}
