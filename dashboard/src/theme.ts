const STORED = 'sagapost-theme'

export type Theme = 'light' | 'dark'

const system = window.matchMedia('(prefers-color-scheme: dark)')

/** What somebody chose, else what the system has. */
export function currentTheme(): Theme {
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

system.addEventListener('change', applyTheme)
