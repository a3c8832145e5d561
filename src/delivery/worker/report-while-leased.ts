import { isPoolEnded } from '../../database/index.js'
import type { ReportBatcher } from './report-batcher.js'
import type { JobReport } from './report-results.js'

const PAUSE_MS = 100
const PAUSE_MS_MAX = 2_000

/**
 * A database that is away for a moment must not turn a delivery into a repeated one: the report is tried again for as
 * long as the lease lasts, unless the worker was made to stop. Throws the last error when it has ended.
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

/** For what may be said twice: tries again, less and less often, and throws the last error when the time is over. */
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
