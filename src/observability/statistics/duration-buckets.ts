/**
 * The upper bounds of the buckets that durations are counted in, in milliseconds; the last one has none. Each is at most
 * twice the one before, so that a percentile is off by a factor of two at worst; beyond a minute it says a minute. They are kept in the database by their places: none may be moved.
 */
export const durationBoundsMs: readonly number[] = [
  ...[1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700],
  ...[1_000, 1_500, 2_000, 3_000, 5_000, 7_000, 10_000, 15_000, 20_000, 30_000, 60_000],
]

export const DURATION_BUCKETS = durationBoundsMs.length + 1

export function bucketOf(durationMs: number): number {
  const index = durationBoundsMs.findIndex((bound) => durationMs <= bound)
  return index === -1 ? durationBoundsMs.length : index
}

/** The duration below which this share of all counted ones lies, by its place in its bucket; null when there are none. */
export function percentileOf(counts: readonly number[], share: number): number | null {
  const all = counts.reduce((sum, count) => sum + count, 0)
  if (all === 0) return null
  let below = 0
  for (const [index, count] of counts.entries()) {
    if (count > 0 && below + count >= share * all) {
      const from = index === 0 ? 0 : (durationBoundsMs[index - 1] as number)
      const to = durationBoundsMs[index] ?? from
      return Math.round((from + (to - from) * ((share * all - below) / count)) * 10) / 10
    }
    below += count
  }
  return null
}

export function addCounts(counts: readonly number[], more: readonly number[]): number[] {
  return Array.from({ length: DURATION_BUCKETS }, (_, index) => (counts[index] ?? 0) + (more[index] ?? 0))
}
