import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Signal } from '../loop/index.js'

export const WAKE_CHANNEL = 'sagapost_wake'
/** NOTIFY takes a global lock at commit: each signal is sent at most once per interval. */
const NOTIFY_EVERY_MS = 20

export interface Notifier {
  /** Identifies the sender, which ignores its own notifications. */
  sender: string
  send(signal: Signal): void
  stop(): void
}

const notify = 'SELECT pg_notify($1, $2)'

/** Notifies the other processes on this database. */
export function createNotifier({ pool, log }: { pool: pg.Pool; log: Logger }): Notifier {
  const sender = randomBytes(6).toString('hex')
  const pending = new Map<Signal, NodeJS.Timeout>()
  const again = new Set<Signal>()
  let stopped = false

  const send = (signal: Signal) => {
    if (stopped) return
    // The first signal goes at once; those that follow within the interval are sent together at its end.
    if (pending.has(signal)) {
      again.add(signal)
      return
    }
    pending.set(
      signal,
      setTimeout(() => {
        pending.delete(signal)
        if (again.delete(signal)) send(signal)
      }, NOTIFY_EVERY_MS),
    )
    pool
      .query(notify, [WAKE_CHANNEL, `${signal} ${sender}`])
      .catch((error: Error) =>
        log.debug({ err: error, signal }, 'wake-up not sent; polling will find the work'),
      )
  }

  return {
    sender,
    send,
    stop() {
      stopped = true
      for (const timer of pending.values()) clearTimeout(timer)
    },
  }
}
