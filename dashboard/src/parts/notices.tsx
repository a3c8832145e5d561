import type { ReactNode } from 'react'
import { ApiProblem } from '../api/index.js'
import { Icon } from './icon.js'
import { showText } from './show-text.js'

/** The error of the server, with its code from the reference. */
export function ProblemNotice({ error }: { error: Error }) {
  const code = error instanceof ApiProblem ? error.code : 'page_failed'
  return (
    <div role="alert" className="flex gap-2.5 rounded-md border border-bad/40 bg-bad-wash px-3 py-2 text-bad">
      <Icon name="alert" className="mt-0.5 size-4" />
      <div className="min-w-0">
        <p className="break-words">{showText(error.message)}</p>
        <p className="mono mt-0.5 opacity-85">{code}</p>
      </div>
    </div>
  )
}

export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="px-4 py-12 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="mx-auto mt-1 max-w-md text-soft">{children}</div>}
    </div>
  )
}

export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="animate-pulse space-y-3 p-4">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <div key={row} className={`h-4 rounded bg-raised ${row % 3 === 2 ? 'w-2/3' : 'w-full'}`} />
      ))}
    </div>
  )
}
