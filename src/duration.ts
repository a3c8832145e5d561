const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** `500ms`, `30s`, `5m`, `1h`, `30d` as milliseconds; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const [, number, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? []
  if (number === undefined || unit === undefined) return undefined
  return Number(number) * UNITS_MS[unit as keyof typeof UNITS_MS]
}
