import { parseDuration } from '../duration.js'
import { invalidDefinition } from './invalid-definition.js'

/** The limit of setTimeout: about 24 days. */
export const TIMER_MS_MAX = 2_147_483_647
/** For times that only the database counts: a hundred years. */
export const DURATION_MS_MAX = 36_500 * 86_400_000
/** The last moment whose year has four digits, as PostgreSQL reads them. */
export const TIME_MS_MAX = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

/** `500ms`, `30s`, `5m`, `1h`, `30d`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

/** `timer`: must fit setTimeout, which fires at once on a longer time. */
export function readDuration(what: string, text: Duration, kind: 'timer' | 'date' = 'date'): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0)
    throw invalidDefinition(`${what} must be a duration like 500ms, 30s or 5m`)
  const most = kind === 'timer' ? TIMER_MS_MAX : DURATION_MS_MAX
  if (ms > most) throw invalidDefinition(`${what} must be no longer than ${most} ms`)
  return ms
}
