import { useEffect } from 'react'
import { useLocation } from 'wouter'

/** `g` followed by one of these keys. */
export const places: Readonly<Record<string, { href: string; name: string }>> = {
  o: { href: '/', name: 'Overview' },
  e: { href: '/events', name: 'Events' },
  d: { href: '/deliveries', name: 'Deliveries' },
  s: { href: '/subscriptions', name: 'Subscriptions' },
  l: { href: '/dead-letters', name: 'Dead letters' },
  a: { href: '/sagas', name: 'Sagas' },
  y: { href: '/system', name: 'System' },
}

const GO_MS = 1_200

/** Keyboard shortcuts, inactive while a field has the focus or a dialog is open. */
export function useKeys({ onHelp, onTheme }: { onHelp: () => void; onTheme: () => void }): void {
  const [, navigate] = useLocation()
  useEffect(() => {
    let goUntil = 0
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isBusy(event.target)) return
      const place = places[event.key]
      if (performance.now() < goUntil && place) {
        goUntil = 0
        navigate(place.href)
      } else if (event.key === 'g') goUntil = performance.now() + GO_MS
      else if (event.key === 'j') moveRow(1)
      else if (event.key === 'k') moveRow(-1)
      else if (event.key === '?') onHelp()
      else if (event.key === 't') onTheme()
      else if (event.key === '/') document.querySelector<HTMLElement>('[data-main-search]')?.focus()
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', pressed)
    return () => window.removeEventListener('keydown', pressed)
  }, [navigate, onHelp, onTheme])
}

function isBusy(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true
  return target instanceof HTMLElement && target.matches('input:not([type=checkbox]), textarea, select')
}

function moveRow(step: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row-link]')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const next =
    at === -1 ? (step > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + step))
  rows[next]?.focus()
  rows[next]?.scrollIntoView({ block: 'nearest' })
}
