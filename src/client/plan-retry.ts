const BASE_DELAY_MS = 200
const DELAY_MS_MAX = 5_000

/** Statuses of a temporary overload or outage, of the server or a proxy. */
const PASSING_STATUSES: readonly number[] = [429, 502, 503, 504]

export function isPassing(status: number): boolean {
  return PASSING_STATUSES.includes(status)
}

/**
 * The delay after this attempt (the first is 1). It doubles up to a limit, and half of it is random, so that clients
 * that failed together do not retry together. It is never shorter than Retry-After.
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

/** Retry-After, a number or a date, in seconds from now. Invalid values are ignored. */
export function readRetryAfter(header: string | null, now: number = Date.now()): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text)
  const at = /^[A-Z][a-z]{2}, .+ GMT$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1_000))
}
