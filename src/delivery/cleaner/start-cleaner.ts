import type pg from 'pg'
import type { Logger } from 'pino'
import type { WorkWindow } from '../../database/index.js'
import { type Loop, startLoop, type Wakeups } from '../../loop/index.js'
import { logFailure, logFields, type Recorders } from '../../observability/index.js'
import { resetLeases } from './reset-leases.js'

const JOBS_PER_BATCH_MAX = 500
/** [J8] A job that has lost this many leases fails with `lease_expired`. */
const LOST_LEASES_MAX = 3

export interface CleanerOptions {
  /** Under the role job_worker. */
  pool: pg.Pool
  window: () => WorkWindow
  wakeups: Wakeups
  log: Logger
  metrics: Pick<Recorders, 'leaseReset' | 'loopFailed'>
  intervalMs: number
}

/** The Lease Reset Cleaner: releases the jobs whose workers were lost [J8]. */
export function startCleaner({ pool, window, wakeups, log, metrics, intervalMs }: CleanerOptions): Loop {
  return startLoop({
    round: async () => {
      const { fresh, older } = window()
      let more = false
      for (const range of [fresh, ...older]) {
        const resets = await resetLeases(pool, {
          range,
          batchMax: JOBS_PER_BATCH_MAX,
          lostLeasesMax: LOST_LEASES_MAX,
        })
        for (const reset of resets) {
          metrics.leaseReset(reset.status === 'Failed' ? 'failed' : 'pending')
          log.warn(
            {
              ...logFields({ ...reset, errorCode: reset.status === 'Failed' ? 'lease_expired' : null }),
              lease_resets: reset.leaseResets,
            },
            'lease expired',
          )
        }
        if (resets.some(({ status }) => status === 'Pending')) wakeups.wake('claims')
        if (resets.some(({ status }) => status === 'Failed')) wakeups.wake('results')
        more ||= resets.length === JOBS_PER_BATCH_MAX
      }
      return more
    },
    idleMs: intervalMs,
    onError: (error) => {
      metrics.loopFailed('cleaner')
      logFailure(log, error, 'resetting leases failed; will try again')
    },
  })
}
