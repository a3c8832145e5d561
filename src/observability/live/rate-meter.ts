import { addCounts, type MinuteCounts, percentileOf } from '../statistics/index.js'

/** Rates are those of the last seconds: shorter, and they would jump with every write of the counts. */
const RATE_WINDOW_MS = 10_000
/** Few attempts say little about percentiles and success: they are taken over a longer time. */
const QUALITY_WINDOW_MS = 60_000

export interface Rates {
  eventsPerS: number
  attemptsPerS: number
  failedPerS: number
  /** Of the attempts of the last minute; null: no attempts. */
  successRate: number | null
  p50Ms: number | null
  p95Ms: number | null
  p99Ms: number | null
}

interface Sample extends Omit<MinuteCounts, 'minute'> {
  atMs: number
}

/** Turns counts per minute into current rates. */
export function createRateMeter(now: () => number = () => performance.now()) {
  let known = new Map<number, MinuteCounts>()
  let samples: Sample[] = []

  const sumSince = (fromMs: number) => {
    const counted = samples.filter(({ atMs }) => atMs > fromMs)
    return {
      events: sum(counted.map(({ events }) => events)),
      succeeded: sum(counted.map(({ succeeded }) => succeeded)),
      failed: sum(counted.map(({ failed }) => failed)),
      durations: counted.reduce<readonly number[]>((all, { durations }) => addCounts(all, durations), []),
    }
  }

  return {
    /** What came since the last look; the first look only remembers. */
    add(minutes: readonly MinuteCounts[]): void {
      const isFirst = known.size === 0 && samples.length === 0
      const grown = {
        events: 0,
        succeeded: 0,
        failed: 0,
        deadLettered: 0,
        durations: [] as readonly number[],
      }
      for (const minute of minutes) {
        const before = known.get(minute.minute)
        grown.events += minute.events - (before?.events ?? 0)
        grown.succeeded += minute.succeeded - (before?.succeeded ?? 0)
        grown.failed += minute.failed - (before?.failed ?? 0)
        grown.deadLettered += minute.deadLettered - (before?.deadLettered ?? 0)
        const negative = (before?.durations ?? []).map((count) => -count)
        grown.durations = addCounts(grown.durations, addCounts(minute.durations, negative))
      }
      known = new Map(minutes.map((minute) => [minute.minute, minute]))
      const none = { events: 0, succeeded: 0, failed: 0, deadLettered: 0, durations: [] }
      samples = samples.filter(({ atMs }) => atMs > now() - QUALITY_WINDOW_MS - RATE_WINDOW_MS)
      samples.push({ atMs: now(), ...(isFirst ? none : grown) })
    },
    read(): Rates {
      const first = samples[0]?.atMs ?? now()
      const recent = sumSince(Math.max(first, now() - RATE_WINDOW_MS))
      const seconds = Math.max(1, Math.min(RATE_WINDOW_MS, now() - first) / 1000)
      const quality = sumSince(now() - QUALITY_WINDOW_MS)
      const attempts = quality.succeeded + quality.failed
      return {
        eventsPerS: recent.events / seconds,
        attemptsPerS: (recent.succeeded + recent.failed) / seconds,
        failedPerS: recent.failed / seconds,
        successRate: attempts === 0 ? null : quality.succeeded / attempts,
        p50Ms: percentileOf(quality.durations, 0.5),
        p95Ms: percentileOf(quality.durations, 0.95),
        p99Ms: percentileOf(quality.durations, 0.99),
      }
    },
    /** Called when the last viewer leaves, so that later counts are not taken for current rates. */
    forget(): void {
      known = new Map()
      samples = []
    },
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
