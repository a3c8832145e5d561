import { useState } from 'react'
import { Icon } from './icon.js'

const SHOWN_MS = 1_500

export function CopyButton({ text, label, wide = false }: { text: string; label: string; wide?: boolean }) {
  const [copied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard?.writeText(text).catch(() => {})
    setCopied(true)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  const name = copied ? 'Copied' : `Copy ${label}`
  return (
    <button
      type="button"
      onClick={copy}
      title={name}
      aria-label={name}
      className={
        wide
          ? 'button'
          : 'inline-grid size-6 place-items-center rounded text-faint hover:bg-raised hover:text-ink'
      }
    >
      <Icon name={copied ? 'check' : 'copy'} className="size-3.5" />
      {wide && (copied ? 'Copied' : 'Copy')}
    </button>
  )
}

/** A long value, truncated to fit; its title and the clipboard have all of it. */
export function LongValue({ text, shown = text, label }: { text: string; shown?: string; label: string }) {
  return (
    <span className="inline-flex max-w-full min-w-0 items-center gap-1">
      <span className="mono truncate" title={shown}>
        {shown}
      </span>
      <CopyButton text={text} label={label} />
    </span>
  )
}
