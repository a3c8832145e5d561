import type { Logger } from 'pino'
import { createLog, redactFields } from '../observability/index.js'
import type { Log } from './options.js'

type Fields = Record<string, unknown>

const nowhere = { write: () => {} }

/** The application's log as the parts know it: nothing confidential gets there, and a log that fails fails alone. */
export function adaptLog(log: Log | undefined): Logger {
  // Without a log there is no stream either: pino's own would be the application's stdout.
  if (log === undefined) return createLog({ level: 'silent', destination: nowhere })
  // What the parts use of pino, and its neighbours.
  return bindTo(log, {}) as unknown as Logger
}

function bindTo(log: Log, bound: Fields) {
  const write = (level: keyof Log) => (given: Fields | string, message: string) => {
    const [fields, line] = typeof given === 'string' ? [{}, given] : [given, message]
    try {
      log[level](redactFields({ ...bound, ...fields }), line)
    } catch {
      // A line is lost; a delivery must not be.
    }
  }
  return {
    fatal: write('error'),
    error: write('error'),
    warn: write('warn'),
    info: write('info'),
    debug: write('debug'),
    trace: write('debug'),
    // Whether it wants a line is its own business.
    isLevelEnabled: () => true,
    child: (more: Fields): unknown => bindTo(log, { ...bound, ...more }),
  }
}
