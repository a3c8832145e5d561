import type { ListenSettings } from './read-listen-options.js'

/** Of so many webhook-ids it is known how often they came; of the oldest it is then forgotten. */
const IDS_MAX = 10_000

/** What each delivery is answered with: always the same, or failures first, counted for each webhook-id. */
export function planAnswers({
  status,
  delayMs,
  failFirst,
}: Pick<ListenSettings, 'status' | 'delayMs' | 'failFirst'>): (request: { id: string | null }) => {
  status: number
  delayMs: number
} {
  const timesSeen = new Map<string, number>()

  function count(id: string): number {
    const times = (timesSeen.get(id) ?? 0) + 1
    timesSeen.delete(id) // so that it is the newest again
    timesSeen.set(id, times)
    const [oldest] = timesSeen.keys()
    if (timesSeen.size > IDS_MAX && oldest !== undefined) timesSeen.delete(oldest)
    return times
  }

  return ({ id }) => {
    if (failFirst === 0) return { status: status ?? 200, delayMs }
    return { status: count(id ?? '') <= failFirst ? (status ?? 500) : 200, delayMs }
  }
}
