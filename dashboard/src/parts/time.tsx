import { useSyncExternalStore } from 'react'
import { formatSpan } from './format-values.js'

const TICK_MS = 1_000
const tickers = new Set<() => void>()
let nowMs = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

/** One timer for all times on the page. */
function subscribe(ticker: () => void): () => void {
  tickers.add(ticker)
  timer ??= setInterval(() => {
    nowMs = Date.now()
    for (const each of tickers) each()
  }, TICK_MS)
  return () => {
    tickers.delete(ticker)
    if (tickers.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }
}

function useNow(): number {
  return useSyncExternalStore(subscribe, () => nowMs)
}

const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
const thisYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...clock })
const otherYear = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

export function formatTime(iso: string): string {
  const at = new Date(iso)
  return (at.getFullYear() === new Date().getFullYear() ? thisYear : otherYear).format(at)
}

/** A relative time, with the absolute time as its title. */
export function Time({ at, whole = false }: { at: string; whole?: boolean }) {
  const agoMs = useNow() - Date.parse(at)
  const relative =
    Math.abs(agoMs) < 1_500
      ? 'now'
      : agoMs > 0
        ? `${formatSpan(agoMs, 1)} ago`
        : `in ${formatSpan(-agoMs, 1)}`
  return (
    <time dateTime={at} title={`${formatTime(at)} · ${at}`} className="whitespace-nowrap">
      {whole ? (
        <>
          {formatTime(at)} <span className="text-faint">({relative})</span>
        </>
      ) : (
        relative
      )}
    </time>
  )
}

/** Counts down to a time, then shows `done`. */
export function Countdown({ to, done }: { to: string; done: string }) {
  const leftMs = Date.parse(to) - useNow()
  return (
    <time dateTime={to} title={formatTime(to)} className="mono">
      {leftMs > 0 ? `in ${formatSpan(leftMs + 999)}` : done}
    </time>
  )
}
