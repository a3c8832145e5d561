export interface Summary {
  median: number
  min: number
  max: number
}

export function summarise(samples: readonly number[]): Summary {
  const sorted = samples.toSorted((a, b) => a - b)
  return {
    median: percentileOf(sorted, 50),
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  }
}

/** Fewer samples say nothing about the one in a hundred. */
export const PERCENTILE_SAMPLES_MIN = 1_000

export interface Percentiles {
  samples: number
  /** Null: too few samples. */
  p50: number | null
  p95: number | null
  p99: number | null
  max: number | null
}

export function percentiles(samples: readonly number[]): Percentiles {
  const sorted = samples.toSorted((a, b) => a - b)
  const enough = sorted.length >= PERCENTILE_SAMPLES_MIN
  const at = (percent: number) => (enough ? percentileOf(sorted, percent) : null)
  return { samples: sorted.length, p50: at(50), p95: at(95), p99: at(99), max: sorted.at(-1) ?? null }
}

/** Of several of them, figure by figure. */
export function medianPercentiles(all: readonly Percentiles[]): Percentiles {
  const median = (of: (one: Percentiles) => number | null) => {
    const known = all.map(of).filter((value) => value !== null)
    return known.length > 0 ? summarise(known).median : null
  }
  return {
    samples: all.reduce((sum, { samples }) => sum + samples, 0),
    p50: median(({ p50 }) => p50),
    p95: median(({ p95 }) => p95),
    p99: median(({ p99 }) => p99),
    max: median(({ max }) => max),
  }
}

/** Between the two nearest; `sorted` ascends. */
function percentileOf(sorted: readonly number[], percent: number): number {
  const at = ((sorted.length - 1) * percent) / 100
  const below = sorted[Math.floor(at)] ?? Number.NaN
  const above = sorted[Math.ceil(at)] ?? Number.NaN
  return below + (above - below) * (at - Math.floor(at))
}
