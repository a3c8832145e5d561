import { isPoolEnded } from '../../database/index.js'
import type { ReportBatcher } from './report-batcher.js'
import type { JobReport } from './report-results.js'

const PAUSE_MS = 100
const PAUSE_MS_MAX = 2_000

/**
 * A short database outage must not cause a repeated delivery: the report is retried while the lease lasts, unless the
 * worker was stopped. Throws the last error when the lease has ended.
 */
export function reportWhileLeased(
  reports: ReportBatcher,
  report: JobReport,
  leaseEndsMs: number,
): Promise<boolean> {
  return repeatUntil(
    () => leaseEndsMs,
    () => reports.report(report),
  )
}

/** For idempotent work: retries at growing intervals, and throws the last error when the time is over. */
export async function repeatUntil<Result>(
  endsMs: () => number,
  attempt: () => Promise<Result>,
): Promise<Result> {
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    try {
      return await attempt()
    } catch (error) {
      if (isPoolEnded(error) || performance.now() + pauseMs >= endsMs()) throw error
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
}
