import { type FormEvent, type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react'
import { Icon } from './icon.js'
import { ProblemNotice } from './notices.js'

interface DialogProps {
  title: string
  onClose: () => void
  children: ReactNode
}

/** The browser's own dialog: it keeps the focus inside, and Escape closes it. */
export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const name = useId()
  // Before the element is removed, so that the focus returns to its previous place.
  useLayoutEffect(() => {
    const dialog = element.current
    if (dialog && !dialog.open) dialog.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      className="m-auto w-[min(34rem,calc(100vw-2rem))] rounded-xl border border-line bg-panel p-0 text-ink shadow-xl"
    >
      <header className="flex items-center justify-between border-b border-line px-5 py-3">
        <h2 id={name} className="text-base font-semibold">
          {title}
        </h2>
        <button
          type="button"
          onClick={onClose}
          aria-label="Close"
          className="rounded p-1 text-faint hover:text-ink"
        >
          <Icon name="close" />
        </button>
      </header>
      <div className="px-5 py-4">{children}</div>
    </dialog>
  )
}

interface ActionDialogProps extends DialogProps {
  /** The label of the button that submits. */
  action: string
  danger?: boolean
  disabled?: boolean
  /** When it throws, the dialog stays open and shows the error. */
  onSubmit: (form: FormData) => Promise<unknown>
}

export function ActionDialog({ action, danger, disabled, onSubmit, children, ...dialog }: ActionDialogProps) {
  const [error, setError] = useState<Error | null>(null)
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    setBusy(true)
    setError(null)
    await onSubmit(new FormData(event.currentTarget)).catch(setError)
    setBusy(false)
  }
  return (
    <Dialog {...dialog}>
      <form onSubmit={submit} className="space-y-4">
        {children}
        {error && <ProblemNotice error={error} />}
        <div className="flex justify-end gap-2">
          <button type="button" className="button" onClick={dialog.onClose}>
            Cancel
          </button>
          <button
            type="submit"
            disabled={busy || disabled}
            className={`button ${danger ? 'button-danger' : 'button-primary'}`}
          >
            {busy ? 'Please wait …' : action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** A labelled field with an optional hint. */
export function Field({ label, hint, children }: { label: string; hint?: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: its control is the child
    <label className="block">
      <span className="mb-1 block font-medium">{label}</span>
      {children}
      {hint && <span className="mt-1 block text-xs text-soft">{hint}</span>}
    </label>
  )
}
