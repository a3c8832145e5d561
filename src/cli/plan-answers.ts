import type { ListenSettings } from './read-listen-options.js'

/** The number of webhook-ids whose requests are counted; the oldest are evicted. */
const IDS_MAX = 10_000

/** The response to each delivery: always the same, or failures first, counted per webhook-id. */
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
    timesSeen.delete(id) // moves it to the newest position
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
