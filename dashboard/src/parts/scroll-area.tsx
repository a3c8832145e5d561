import type { ReactNode } from 'react'

/** A scrollable area that takes the focus, so that the keyboard can scroll it. */
export function ScrollArea({
  label,
  className,
  children,
}: {
  label: string
  className: string
  children: ReactNode
}) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only what has the focus is scrolled by keys
    <section tabIndex={0} aria-label={label} className={`overflow-auto ${className}`}>
      {children}
    </section>
  )
}

/** Untrusted text, line by line, always rendered as text. */
export function TextArea({
  label,
  className = '',
  text,
}: {
  label: string
  className?: string
  text: string
}) {
  return (
    <ScrollArea label={label} className={className}>
      <pre className="mono break-all whitespace-pre-wrap">{text}</pre>
    </ScrollArea>
  )
}
