const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return '–'
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(2)} s`
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)} s`
  return formatSpan(ms)
}

/** The duration in its two largest units. */
export function formatSpan(ms: number, units = 2): string {
  const parts = [
    [Math.floor(ms / DAY), 'd'],
    [Math.floor((ms % DAY) / HOUR), 'h'],
    [Math.floor((ms % HOUR) / MINUTE), 'min'],
    [Math.floor((ms % MINUTE) / SECOND), 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  if (first === -1) return '0 s'
  return parts
    .slice(first, first + units)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}

export function formatCount(count: number): string {
  return new Intl.NumberFormat('en').format(count)
}

export function formatRate(perSecond: number): string {
  if (perSecond === 0) return '0'
  if (perSecond < 10) return perSecond.toFixed(1)
  return formatCount(Math.round(perSecond))
}

export function formatShare(share: number | null): string {
  if (share === null) return '–'
  const percent = share * 100
  return `${percent === 100 || percent === 0 ? percent : percent > 99 ? Math.min(99.99, percent).toFixed(2) : percent.toFixed(1)} %`
}

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < UNITS.length - 1) {
    value /= 1_000
    unit += 1
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`
}
