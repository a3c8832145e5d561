import { useState } from 'react'
import { ApiProblem, type Subscription } from '../api/index.js'
import { ActionDialog, Field, textOf } from '../parts/index.js'

interface SubscriptionFormProps {
  title: string
  action: string
  subscription?: Subscription
  onClose: () => void
  onSubmit: (body: Record<string, unknown>, idempotencyKey: string) => Promise<void>
}

/** Creates or edits a subscription. */
export function SubscriptionForm({ title, action, subscription, onClose, onSubmit }: SubscriptionFormProps) {
  // One key for all submissions of this form, so that a retry creates no second subscription.
  const [idempotencyKey] = useState(() => newKey())
  const headers = Object.entries(subscription?.headers ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

  const submit = async (form: FormData) => {
    const attempts = textOf(form, 'maxAttempts').trim()
    const body = {
      eventType: textOf(form, 'eventType').trim(),
      callbackUrl: textOf(form, 'callbackUrl').trim(),
      headers: readHeaders(textOf(form, 'headers')),
      ...(attempts === '' ? (subscription ? { maxAttempts: null } : {}) : { maxAttempts: Number(attempts) }),
    }
    await onSubmit(body, idempotencyKey)
  }

  return (
    <ActionDialog title={title} action={action} onClose={onClose} onSubmit={submit}>
      <Field label="Event type">
        <input
          name="eventType"
          required
          defaultValue={subscription?.eventType}
          placeholder="order.placed"
          className="field"
          autoComplete="off"
        />
      </Field>
      <Field
        label="Callback URL"
        hint={
          subscription
            ? 'A new URL must be verified again.'
            : 'HTTPS only. It is asked for a challenge before anything is sent.'
        }
      >
        <input
          name="callbackUrl"
          type="url"
          required
          defaultValue={subscription?.callbackUrl}
          placeholder="https://receiver.example/hooks"
          className="field"
          autoComplete="off"
        />
      </Field>
      <Field label="Attempts" hint="1 to 100; leave empty for the default.">
        <input
          name="maxAttempts"
          type="number"
          min={1}
          max={100}
          defaultValue={subscription?.maxAttempts ?? ''}
          className="field"
        />
      </Field>
      <Field label="Headers" hint="One per line, as name: value. Sent with every delivery.">
        <textarea name="headers" rows={3} defaultValue={headers} className="field mono" spellCheck={false} />
      </Field>
    </ActionDialog>
  )
}

/** Not crypto.randomUUID, which is undefined on pages served without HTTPS. */
export function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}

function readHeaders(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      if (colon < 1) throw new ApiProblem(0, 'request_invalid', `headers: "${line}" is not name: value`)
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    }),
  )
}
