import pc from 'picocolors'
import type { Cell } from './format-table.js'

const UNITS_S = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
  ['s', 1],
] as const

/** `3m ago`, `in 25s`, `now`; `-` for no time. */
export function formatAgo(time: string | null, now: number = Date.now()): string {
  if (time === null) return '-'
  const distanceS = Math.round((now - Date.parse(time)) / 1_000)
  const [unit, unitS] = UNITS_S.find(([, seconds]) => Math.abs(distanceS) >= seconds) ?? ['s', 1]
  const count = Math.floor(Math.abs(distanceS) / unitS)
  if (count === 0) return 'now'
  return distanceS > 0 ? `${count}${unit} ago` : `in ${count}${unit}`
}

/** The time, followed by its age. */
export function formatTime(time: string | null): string {
  return time === null ? '-' : `${time} (${formatAgo(time)})`
}

const BYTES_PER_UNIT = 1_024

/** `8 kB`, `1.5 GB`: as PostgreSQL counts them. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  while (value >= BYTES_PER_UNIT && units.length > 1) {
    value /= BYTES_PER_UNIT
    units.shift()
  }
  return `${value < 10 && !Number.isInteger(value) ? value.toFixed(1) : Math.round(value)} ${units[0]}`
}

const paints: Readonly<Record<string, (text: string) => string>> = {
  Completed: pc.green,
  DeadLettered: pc.red,
  Failed: pc.red,
  PendingRetry: pc.yellow,
  InProgress: pc.cyan,
  Leased: pc.cyan,
  Running: pc.cyan,
  Compensating: pc.yellow,
  Compensated: pc.yellow,
  Cancelled: pc.yellow,
  TimedOut: pc.yellow,
}

/** The status of a delivery, an attempt, a saga or a step. */
export function formatStatus(status: string): Cell {
  const paint = paints[status]
  return paint ? { text: status, paint } : { text: status }
}

/** The state of a subscription in one word. */
export function formatState(subscription: {
  active: boolean
  verified: boolean
  deletedAt: string | null
  deactivationReason: string | null
}): Cell {
  const { active, verified, deletedAt, deactivationReason } = subscription
  if (deletedAt !== null) return { text: 'deleted', paint: pc.dim }
  if (active) return { text: 'active', paint: pc.green }
  if (!verified) return { text: 'unverified', paint: pc.yellow }
  return { text: deactivationReason ? `paused (${deactivationReason})` : 'paused', paint: pc.yellow }
}

/** The state of a subscription's endpoint in one word; `ok` when the last attempt succeeded, or there was none. */
export function formatEndpoint(breaker: { state: 'failing' | 'open' | 'exhausted' } | null): Cell {
  switch (breaker?.state) {
    case undefined:
      return { text: 'ok', paint: pc.green }
    case 'open':
      return { text: 'paused', paint: pc.red }
    default:
      return { text: 'failing', paint: pc.yellow }
  }
}
