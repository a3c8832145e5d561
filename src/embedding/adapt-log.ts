import type { Logger } from 'pino'
import { createLog, redactFields } from '../observability/index.js'
import type { Log } from './options.js'

type Fields = Record<string, unknown>

const nowhere = { write: () => {} }

/** Adapts the application's log for the parts: confidential values are redacted, and errors of the log are contained. */
export function adaptLog(log: Log | undefined): Logger {
  // Without a log, no stream is opened: pino's default is the application's stdout.
  if (log === undefined) return createLog({ level: 'silent', destination: nowhere })
  // The pino methods that the parts use, and similar ones.
  return bindTo(log, {}) as unknown as Logger
}

function bindTo(log: Log, bound: Fields) {
  const write = (level: keyof Log) => (given: Fields | string, message: string) => {
    const [fields, line] = typeof given === 'string' ? [{}, given] : [given, message]
    try {
      log[level](redactFields({ ...bound, ...fields }), line)
    } catch {
      // Losing a log line must not fail a delivery.
    }
  }
  return {
    fatal: write('error'),
    error: write('error'),
    warn: write('warn'),
    info: write('info'),
    debug: write('debug'),
    trace: write('debug'),
    // The application's log applies its own level.
    isLevelEnabled: () => true,
    child: (more: Fields): unknown => bindTo(log, { ...bound, ...more }),
  }
}
