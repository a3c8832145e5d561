import type { Logger } from 'pino'
import { createLog, redactFields } from '../observability/index.js'
import type { Log } from './options.js'

const nowhere = { write: () => {} }

/** The application's log as the parts know it: nothing confidential gets there, and a log that fails fails alone. */
export function adaptLog(log: Log | undefined): Logger {
  // Without a log there is no stream either: pino's own would be the application's stdout.
  if (log === undefined) return createLog({ level: 'silent', destination: nowhere })
  const write = (level: keyof Log) => (fields: Record<string, unknown>, message: string) => {
    try {
      log[level](redactFields(fields), message)
    } catch {
      // A line is lost; a delivery must not be.
    }
  }
  const lines = { error: write('error'), warn: write('warn'), info: write('info'), debug: write('debug') }
  return lines as unknown as Logger // these four are all that the parts use; test/embedding holds that
}
