import type pg from 'pg'
import { type EventRange, groupByRange, type WorkWindow } from '../../database/index.js'
import { findReported } from './find-reported.js'
import { type JobReport, reportResults } from './report-results.js'

/** How long a lone result waits for others, so that many results share one commit. */
const FLUSH_MS = 2
const REPORTS_PER_FLUSH_MAX = 200
/**
 * Results that arrive during a flush go with the next one: one flush at a time makes them larger, and so are the bursts
 * of requests that follow (1.02 to 1.10 times the rate). A flush that takes longer than this, on a slow disk or a
 * locked row, is not waited for: PostgreSQL then shares the commits.
 */
const FLUSH_WAITED_FOR_MS = 15

export interface ReportBatcher {
  /**
   * Resolves when the report has committed: true when the job accepted it, now or earlier; false when its lease was
   * lost [J5].
   */
  report(report: JobReport): Promise<boolean>
}

interface Waiting {
  report: JobReport
  resolve: (accepted: boolean) => void
  reject: (error: Error) => void
}

export function createReportBatcher(
  pool: pg.Pool,
  window: () => WorkWindow,
  onFlushed: () => void,
): ReportBatcher {
  const waiting: Waiting[] = []
  let timer: NodeJS.Timeout | undefined
  let isFlushing = false

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    isFlushing = true
    let hasGoneOn = false
    const goOn = () => {
      if (hasGoneOn) return
      hasGoneOn = true
      clearTimeout(patience)
      isFlushing = false
      flushSoon()
    }
    const patience = setTimeout(goOn, FLUSH_WAITED_FOR_MS)
    void send(waiting.splice(0, REPORTS_PER_FLUSH_MAX)).finally(goOn)
  }

  const flushSoon = () => {
    if (isFlushing || waiting.length === 0) return
    if (waiting.length >= REPORTS_PER_FLUSH_MAX) flush()
    else timer ??= setTimeout(flush, FLUSH_MS)
  }

  const send = async (batch: readonly Waiting[]) => {
    const groups = groupByRange(window(), batch, ({ report }) => report.eventId)
    for (const { range, items } of groups) await sendTo(range, items)
  }

  const sendTo = async (range: EventRange, batch: readonly Waiting[]) => {
    try {
      const reports = batch.map(({ report }) => report)
      const accepted = await reportResults(pool, range, reports)
      // A report whose answer was lost is repeated and finds its own result; only refused reports are looked up.
      const refused = reports.filter(({ jobId }) => !accepted.has(jobId))
      if (refused.length > 0) for (const id of await findReported(pool, range, refused)) accepted.add(id)
      for (const { report, resolve } of batch) resolve(accepted.has(report.jobId))
      onFlushed()
    } catch (error) {
      for (const { reject } of batch) reject(error as Error)
    }
  }

  return {
    report: (report) =>
      new Promise((resolve, reject) => {
        waiting.push({ report, resolve, reject })
        flushSoon()
      }),
  }
}
