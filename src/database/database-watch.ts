import type { Logger } from 'pino'
import { type Outage, outageOf } from './outage.js'

/** How often the log repeats that the database is away. */
const TELL_EVERY_MS = 60_000
const LOOK_EVERY_MS = 1_000
/** Loops retry at least every two seconds: no failure for this long, followed by an answer, means that it is back. */
const BACK_AFTER_MS = 5_000
/** When reads work throughout, an answer proves nothing; every process writes more often than this. */
const WRITES_BACK_AFTER_MS = 25_000
/** Outages that fail only some statements. */
const ANSWERED_MEANWHILE: ReadonlySet<Outage> = new Set([
  ...(['database_read_only', 'database_full', 'database_locks_exhausted'] as const),
])
/** Failures within this time, followed by an answer, count as connections that broke once, together. */
const BURST_MS = 500

/** One per process, for all its connections: an outage is logged once, not by every loop and request that meets it. */
export interface DatabaseWatch {
  /** Reports a failed connection or statement. Errors that are no outage are ignored. */
  failed(error: unknown, role: string): void
  /** Reports that a connection succeeded. */
  answered(): void
  isAway(): boolean
  stop(): void
}

export interface DatabaseWatchOptions {
  databaseUrl: string
  log: Logger
  /** Override for tests. */
  tellEveryMs?: number
  backAfterMs?: number
  writesBackAfterMs?: number
}

interface Trouble {
  code: Outage
  reason: string
  role: string
  failures: number
  firstAtMs: number
  lastAtMs: number
  /** Undefined while it has not been logged: it may be connections that broke once. */
  toldAtMs: number | undefined
}

/** Logs when the database goes away, every minute while it is away, and when it is back. */
export function createDatabaseWatch({
  databaseUrl,
  log,
  tellEveryMs = TELL_EVERY_MS,
  backAfterMs = BACK_AFTER_MS,
  writesBackAfterMs = WRITES_BACK_AFTER_MS,
}: DatabaseWatchOptions): DatabaseWatch {
  const database = nameDatabase(databaseUrl)
  let trouble: Trouble | undefined
  /** The first answer since the last failure. */
  let answeredAtMs: number | undefined
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  function look(): void {
    if (!trouble) return
    const nowMs = performance.now()
    const { firstAtMs, lastAtMs, toldAtMs, code, role, reason, failures } = trouble
    const quietMs = nowMs - lastAtMs
    const what = { database, role, error_code: code, reason, failures }
    const isReadable = ANSWERED_MEANWHILE.has(code)
    if (toldAtMs === undefined) {
      const isBurst = !isReadable && answeredAtMs !== undefined && lastAtMs - firstAtMs < BURST_MS
      if (!isBurst) {
        trouble.toldAtMs = nowMs
        log.error(what, messages[code])
      } else if (quietMs >= LOOK_EVERY_MS) {
        log.warn(what, 'connections to the database were lost; new connections work')
        forget()
      }
    } else if (answeredAtMs !== undefined && quietMs >= (isReadable ? writesBackAfterMs : backAfterMs)) {
      log.warn({ ...what, away_s: seconds(answeredAtMs - firstAtMs) }, 'the database is back')
      forget()
    } else if (nowMs - toldAtMs >= tellEveryMs) {
      trouble.toldAtMs = nowMs
      log.error({ ...what, away_s: seconds(nowMs - firstAtMs) }, `still: ${messages[code]}`)
    }
  }

  function forget(): void {
    clearInterval(timer)
    trouble = undefined
    timer = undefined
  }

  return {
    failed(error, role) {
      const code = outageOf(error)
      if (code === undefined || isStopped) return
      const nowMs = performance.now()
      const reason = String((error as Error).message || (error as { code?: string }).code)
      answeredAtMs = undefined
      if (trouble) {
        Object.assign(trouble, { code, reason, lastAtMs: nowMs, failures: trouble.failures + 1 })
        return
      }
      trouble = { code, reason, role, failures: 1, firstAtMs: nowMs, lastAtMs: nowMs, toldAtMs: undefined }
      timer = setInterval(look, LOOK_EVERY_MS).unref()
    },
    answered() {
      if (trouble && answeredAtMs === undefined) answeredAtMs = performance.now()
    },
    isAway: () => trouble !== undefined,
    stop() {
      isStopped = true
      forget()
    },
  }
}

const messages: Record<Outage, string> = {
  database_unreachable: 'the database is unreachable',
  database_timed_out: 'the database does not answer in time',
  database_read_only: 'the database is read-only',
  database_full: "the database's disk is full",
  database_locks_exhausted: "the database's table of locks is full",
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}

/** The host and database, without the login. */
function nameDatabase(databaseUrl: string): string {
  try {
    const { hostname, port, pathname, searchParams } = new URL(databaseUrl)
    const host = searchParams.get('host') ?? hostname
    return `${host}:${port || searchParams.get('port') || 5432}${pathname}`
  } catch {
    return 'unknown'
  }
}
