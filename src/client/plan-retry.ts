const BASE_DELAY_MS = 200
const DELAY_MS_MAX = 5_000

/** Busy or away, here or at a proxy in between: it may pass. */
const PASSING_STATUSES: readonly number[] = [429, 502, 503, 504]

export function isPassing(status: number): boolean {
  return PASSING_STATUSES.includes(status)
}

/**
 * How long to wait before the attempt after this one (the first is 1). It doubles, up to a limit, and half of it is
 * left to chance, so that clients that failed together do not come back together. Never before Retry-After.
 */
export function retryDelayMs(
  attempt: number,
  retryAfterS: number | undefined,
  random: () => number = Math.random,
): number {
  const full = Math.min(BASE_DELAY_MS * 2 ** (attempt - 1), DELAY_MS_MAX)
  const spread = full / 2 + (full / 2) * random()
  return Math.max(spread, (retryAfterS ?? 0) * 1_000)
}

/** Retry-After as seconds from now: a number, or a date. Nonsense is no wish at all. */
export function readRetryAfter(header: string | null, now: number = Date.now()): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const at = /^[A-Z][a-z]{2}, .+ GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}
