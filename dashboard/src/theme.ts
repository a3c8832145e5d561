import { useSyncExternalStore } from 'react'

const STORED = 'sagapost-theme'

export type Theme = 'light' | 'dark'

const system = window.matchMedia('(prefers-color-scheme: dark)')

/** The user's choice, otherwise the system's. */
function currentTheme(): Theme {
  const chosen = localStorage.getItem(STORED)
  if (chosen === 'light' || chosen === 'dark') return chosen
  return system.matches ? 'dark' : 'light'
}

export function applyTheme(): void {
  document.documentElement.dataset['theme'] = currentTheme()
  window.dispatchEvent(new Event('themechange'))
}

export function switchTheme(): void {
  localStorage.setItem(STORED, currentTheme() === 'dark' ? 'light' : 'dark')
  applyTheme()
}

function subscribe(changed: () => void): () => void {
  window.addEventListener('themechange', changed)
  return () => window.removeEventListener('themechange', changed)
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, currentTheme)
}

system.addEventListener('change', applyTheme)
