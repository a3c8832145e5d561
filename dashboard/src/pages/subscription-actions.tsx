import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  ApiProblem,
  callApi,
  type RotatedSecret,
  type Subscription,
  type TestOutcome,
  useMay,
} from '../api/index.js'
import {
  ActionDialog,
  Dialog,
  Field,
  formatDuration,
  formatTime,
  showText,
  TextArea,
  textOf,
} from '../parts/index.js'
import { SecretDialog } from './secret-dialog.js'
import { newKey, SubscriptionForm } from './subscription-form.js'

type Open = 'edit' | 'verify' | 'pause' | 'rotate' | 'test' | 'delete'

const HOUR_MS = 3_600_000

/** The actions for a subscription; those that the key does not allow are hidden. */
export function SubscriptionActions({ subscription }: { subscription: Subscription }) {
  const { id, active, verified } = subscription
  const path = `/v1/subscriptions/${id}`
  const [open, setOpen] = useState<Open>()
  const [outcome, setOutcome] = useState<TestOutcome>()
  const [secret, setSecret] = useState<RotatedSecret>()
  const mayChange = useMay('changeSubscriptions')
  const mayTry = useMay('trySubscriptions')
  const client = useQueryClient()
  const close = () => setOpen(undefined)
  const done = async () => {
    close()
    await Promise.all([
      client.invalidateQueries({ queryKey: [path] }),
      client.invalidateQueries({ queryKey: ['/v1/subscriptions'] }),
    ])
  }
  const offers: [Open, string, boolean][] = [
    ['verify', verified ? 'Verify again' : 'Verify', mayTry],
    ['test', 'Send test', mayTry],
    ['edit', 'Edit', mayChange],
    ['pause', active ? 'Pause' : 'Resume', mayChange && (active || verified)],
    ['rotate', 'Rotate secret', mayChange],
    ['delete', 'Delete', mayChange],
  ]

  return (
    <>
      {offers.map(
        ([each, name, may]) =>
          may && (
            <button
              key={each}
              type="button"
              className={`button ${each === 'delete' ? 'button-danger' : each === 'verify' && !verified ? 'button-primary' : ''}`}
              onClick={() => setOpen(each)}
            >
              {name}
            </button>
          ),
      )}
      {open === 'edit' && (
        <SubscriptionForm
          title={`Edit subscription ${id}`}
          action="Save"
          subscription={subscription}
          onClose={close}
          onSubmit={async (body) => {
            await callApi('PATCH', path, { body })
            await done()
          }}
        />
      )}
      {open === 'verify' && (
        <ActionDialog
          title="Verify callback"
          action="Send challenge"
          onClose={close}
          onSubmit={async () => {
            await callApi('POST', `${path}/verify`).catch(explainVerification)
            await done()
          }}
        >
          <p>
            A signed request with a challenge is sent to the callback, which must return it. The subscription
            then becomes active.
          </p>
        </ActionDialog>
      )}
      {open === 'pause' && (
        <ActionDialog
          title={active ? 'Pause subscription' : 'Resume subscription'}
          action={active ? 'Pause' : 'Resume'}
          onClose={close}
          onSubmit={async () => {
            await callApi('PATCH', path, { body: { active: !active } })
            await done()
          }}
        >
          <p>
            {active
              ? 'New events create no deliveries for it. Open deliveries are held until it is active again.'
              : 'New events create deliveries for it again, and held deliveries continue. Events published in the meantime are not delivered.'}
          </p>
        </ActionDialog>
      )}
      {open === 'rotate' && (
        <ActionDialog
          title="Rotate secret"
          action="Rotate"
          onClose={close}
          onSubmit={async (form) => {
            const body = { overlapMs: Math.round(Number(textOf(form, 'hours')) * HOUR_MS) }
            const idempotencyKey = newKey()
            setSecret(await callApi<RotatedSecret>('POST', `${path}/rotate-secret`, { body, idempotencyKey }))
            await done()
          }}
        >
          <p>
            Requests are signed with the new secret at once; during the overlap, also with the previous one.
          </p>
          <Field label="Overlap in hours">
            <input
              name="hours"
              type="number"
              min={0}
              max={720}
              step="any"
              defaultValue={24}
              required
              className="field"
            />
          </Field>
        </ActionDialog>
      )}
      {open === 'test' && (
        <ActionDialog
          title="Send test request"
          action="Send"
          onClose={close}
          onSubmit={async () => {
            setOutcome(await callApi<TestOutcome>('POST', `${path}/test`))
            close()
          }}
        >
          <p>A signed request is sent to the callback at once. No event or delivery is created.</p>
        </ActionDialog>
      )}
      {open === 'delete' && (
        <ActionDialog
          title={`Delete subscription ${id}`}
          action="Delete permanently"
          danger
          onClose={close}
          onSubmit={async () => {
            await callApi('DELETE', path)
            await done()
          }}
        >
          <p>This cannot be undone. Nothing more is sent, and open deliveries end as dead letters.</p>
        </ActionDialog>
      )}
      {outcome && <TestOutcomeDialog outcome={outcome} onClose={() => setOutcome(undefined)} />}
      {secret && (
        <SecretDialog
          secret={secret.secret}
          note={
            secret.previousExpiresAt
              ? `Requests are signed with both secrets until ${formatTime(secret.previousExpiresAt)}.`
              : 'The previous secret is no longer used.'
          }
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}

/** The problem, with the response of the callback. */
function explainVerification(error: unknown): never {
  if (!(error instanceof ApiProblem)) throw error
  const { responseStatus, errorCode } = (error.extensions['response'] ?? {}) as Partial<TestOutcome>
  const came = [responseStatus && `HTTP ${responseStatus}`, errorCode].filter(Boolean).join(', ')
  throw new ApiProblem(error.status, error.code, came ? `${error.message} (${came})` : error.message)
}

function TestOutcomeDialog({ outcome, onClose }: { outcome: TestOutcome; onClose: () => void }) {
  const { delivered, responseStatus, errorCode, durationMs, responseExcerpt } = outcome
  return (
    <Dialog title={delivered ? 'Test request accepted' : 'Test request failed'} onClose={onClose}>
      <p className={delivered ? 'text-good' : 'text-bad'}>
        {responseStatus !== null && <span className="mono">HTTP {responseStatus} </span>}
        {errorCode && <span className="mono">{showText(errorCode)} </span>}
        <span className="text-soft">after {formatDuration(durationMs)}</span>
      </p>
      {responseExcerpt && (
        <TextArea
          label="Response"
          text={showText(responseExcerpt)}
          className="mt-3 max-h-60 rounded bg-raised p-2"
        />
      )}
      <div className="mt-4 flex justify-end">
        <button type="button" className="button button-primary" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
