import type pg from 'pg'
import { rangeAround } from '../database/index.js'
import { type JobReport, reportResults } from './report-results.js'

/** One commit for many results; a lone one waits this long for company. */
const FLUSH_MS = 5
const REPORTS_PER_FLUSH_MAX = 100

export interface ReportBatcher {
  /** Resolves when the report has committed: true when the job took it, false when its lease was lost [J5]. */
  report(report: JobReport): Promise<boolean>
}

interface Waiting {
  report: JobReport
  resolve: (accepted: boolean) => void
  reject: (error: Error) => void
}

export function createReportBatcher(pool: pg.Pool, onFlushed: () => void): ReportBatcher {
  const waiting: Waiting[] = []
  let timer: NodeJS.Timeout | undefined

  const flush = async () => {
    clearTimeout(timer)
    timer = undefined
    const batch = waiting.splice(0, REPORTS_PER_FLUSH_MAX)
    if (waiting.length > 0) timer = setTimeout(flush, 0)
    try {
      const reports = batch.map(({ report }) => report)
      const accepted = await reportResults(pool, rangeAround(reports.map(({ eventId }) => eventId)), reports)
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
        if (waiting.length >= REPORTS_PER_FLUSH_MAX) void flush()
        else timer ??= setTimeout(flush, FLUSH_MS)
      }),
  }
}
