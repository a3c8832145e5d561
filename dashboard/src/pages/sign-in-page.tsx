import { type FormEvent, useState } from 'react'
import { useSignIn } from '../api/index.js'
import { ProblemNotice } from '../parts/index.js'

export function SignInPage() {
  const { signIn } = useSignIn()
  const [error, setError] = useState<Error | null>(null)
  const [busy, setBusy] = useState(false)
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const key = String(new FormData(event.currentTarget).get('key')).trim()
    setBusy(true)
    setError(null)
    await signIn(key).catch((problem: Error) => {
      setError(problem)
      setBusy(false)
    })
  }
  return (
    <main className="grid min-h-dvh place-items-center p-4">
      <form onSubmit={submit} className="panel w-full max-w-sm space-y-4 p-6">
        <h1 className="flex items-center gap-2.5 text-lg font-semibold">
          <img src="/icon.svg" alt="" className="size-7" />
          Sagapost
        </h1>
        <label className="block">
          <span className="mb-1 block font-medium">API key</span>
          <input
            name="key"
            type="password"
            required
            autoComplete="current-password"
            placeholder="spk_…"
            className="field h-9"
            // biome-ignore lint/a11y/noAutofocus: the page has this one field and nothing else
            autoFocus
          />
        </label>
        {error && <ProblemNotice error={error} />}
        <button type="submit" disabled={busy} className="button button-primary h-9 w-full">
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
        <p className="text-xs text-soft">
          <code className="mono">npm start</code> prints its key;{' '}
          <code className="mono">sagapost keys create</code> creates others. The session lasts twelve hours
          and is kept in a cookie that no script can read.
        </p>
      </form>
    </main>
  )
}
