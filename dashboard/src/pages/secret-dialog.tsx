import { Link } from 'wouter'
import { CopyButton, Dialog } from '../parts/index.js'

interface SecretDialogProps {
  secret: string
  note: string
  next?: { href: string; label: string }
  onClose: () => void
}

/** Shows a secret once; the page does not keep it. */
export function SecretDialog({ secret, note, next, onClose }: SecretDialogProps) {
  return (
    <Dialog title="Signing secret" onClose={onClose}>
      <p className="mb-3">{note}</p>
      <p className="mb-1 font-medium">
        The receiver verifies signatures with this secret. It is shown only once:
      </p>
      <div className="flex items-center gap-2 rounded-md bg-raised p-2">
        <code className="mono grow break-all" data-secret>
          {secret}
        </code>
        <CopyButton text={secret} label="secret" wide />
      </div>
      <div className="mt-4 flex justify-end gap-2">
        {next && (
          <Link href={next.href} className="button" onClick={onClose}>
            {next.label}
          </Link>
        )}
        <button type="button" className="button button-primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  )
}
