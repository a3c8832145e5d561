import { parseDuration } from '../config/index.js'
import { invalidDefinition } from './invalid-definition.js'

/** `500ms`, `30s`, `5m`, `1h`, `30d`. */
export type Duration = `${number}${'ms' | 's' | 'm' | 'h' | 'd'}`

export function readDuration(what: string, text: Duration): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms === 0)
    throw invalidDefinition(`${what} must be a duration like 500ms, 30s or 5m`)
  return ms
}
