import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'

interface PageProps {
  title: string
  /** The list that this page belongs to. */
  back?: { href: string; label: string }
  badge?: ReactNode
  actions?: ReactNode
  children: ReactNode
}

export function Page({ title, back, badge, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Sagapost`
  }, [title])
  return (
    <>
      <header className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="min-w-0 grow">
          {back && (
            <Link href={back.href} className="link text-xs">
              ← {back.label}
            </Link>
          )}
          <div className="flex flex-wrap items-center gap-2.5">
            <h1 className="truncate text-xl font-semibold tracking-tight">{title}</h1>
            {badge}
          </div>
        </div>
        {actions && <div className="flex flex-wrap gap-2">{actions}</div>}
      </header>
      {children}
    </>
  )
}

export function Panel({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="panel mb-4 overflow-hidden">
      <header className="flex min-h-10 flex-wrap items-center justify-between gap-2 border-b border-line px-4 py-1.5">
        <h2 className="font-semibold">{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  )
}

/** Values that are always long span two columns. */
type Fact = readonly [name: string, value: ReactNode, width?: 'long']

/** The fields of one resource, as names and values. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="grid grid-cols-1 gap-x-8 px-4 py-2 sm:grid-cols-2 xl:grid-cols-3">
      {facts.map(([name, value, width]) => (
        <div
          key={name}
          className={`flex min-w-0 items-baseline gap-3 py-1.5 ${width === 'long' ? 'sm:col-span-2' : ''}`}
        >
          <dt className="w-32 shrink-0 text-soft">{name}</dt>
          <dd className="min-w-0 truncate">{value ?? <span className="text-faint">–</span>}</dd>
        </div>
      ))}
    </dl>
  )
}
