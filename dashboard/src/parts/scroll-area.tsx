import type { ReactNode } from 'react'

/** What may be wider or longer than its place: the keyboard reaches it, so that it can be scrolled. */
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

/** Text of others, line by line, and never as anything but text. */
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
