import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { callApi, type SagaWithSteps, useMay } from '../api/index.js'
import { ActionDialog, Field, textOf } from '../parts/index.js'

const cancellable = new Set(['Pending', 'Running', 'StepCompleted'])

/** Cancels and resolves a saga. The name and the reason are recorded in its history. */
export function SagaActions({ saga, path }: { saga: SagaWithSteps; path: string }) {
  const may = useMay('settleSagas')
  const [open, setOpen] = useState<'cancel' | 'resolve'>()
  const client = useQueryClient()
  if (!may) return null
  const close = () => setOpen(undefined)
  const send = async (action: 'cancel' | 'resolve', form: FormData) => {
    const body = {
      by: textOf(form, 'by'),
      why: textOf(form, 'why'),
      ...(action === 'resolve' && { action: textOf(form, 'action') }),
    }
    await callApi('POST', `${path}/${action}`, { body })
    close()
    await client.invalidateQueries({ queryKey: [path] })
  }
  const isWaiting = saga.state !== 'Failed'
  return (
    <>
      {cancellable.has(saga.state) && saga.cancelRequestedAt === null && saga.pivotedAt === null && (
        <button type="button" className="button button-danger" onClick={() => setOpen('cancel')}>
          Cancel
        </button>
      )}
      {saga.awaitingOperator && (
        <button type="button" className="button button-primary" onClick={() => setOpen('resolve')}>
          Resolve
        </button>
      )}
      {open === 'cancel' && (
        <ActionDialog
          title="Cancel saga"
          action="Cancel and compensate"
          danger
          onClose={close}
          onSubmit={(form) => send('cancel', form)}
        >
          <p>The saga stops, and its completed steps are compensated.</p>
          <WhoAndWhy />
        </ActionDialog>
      )}
      {open === 'resolve' && (
        <ActionDialog
          title="Resolve saga"
          action="Resolve"
          onClose={close}
          onSubmit={(form) => send('resolve', form)}
        >
          <Field label="Action">
            <select name="action" className="field" defaultValue={isWaiting ? 'skip' : 'retry'}>
              {!isWaiting && <option value="retry">retry: compensate again</option>}
              <option value="skip">skip: continue without this step</option>
              {!isWaiting && <option value="resolve">resolve: accept the state as it is</option>}
            </select>
          </Field>
          <WhoAndWhy />
        </ActionDialog>
      )}
    </>
  )
}

function WhoAndWhy() {
  return (
    <>
      <Field label="Your name" hint="The API key is recorded as well.">
        <input name="by" required maxLength={200} className="field" autoComplete="name" />
      </Field>
      <Field label="Reason">
        <textarea name="why" required maxLength={1000} rows={2} className="field" />
      </Field>
    </>
  )
}
