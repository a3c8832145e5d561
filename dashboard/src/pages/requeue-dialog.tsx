import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { callApi } from '../api/index.js'
import { ActionDialog, formatCount, ProblemNotice } from '../parts/index.js'
import { newKey } from './subscription-form.js'

/** The labels of the filters above the list. */
const labels: Readonly<Record<string, string>> = {
  eventType: 'Event type',
  errorCode: 'Error',
  subscriptionId: 'Subscription',
  from: 'From',
  to: 'To',
}

/** Shows the number of matching dead letters before the requeue can be started. */
export function RequeueDialog({ filter, onClose }: { filter: Record<string, string>; onClose: () => void }) {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''))
  const asked = Object.keys(given).length > 0 ? given : { all: true }
  const [idempotencyKey] = useState(newKey)
  const client = useQueryClient()
  const { data, error } = useQuery({
    queryKey: ['requeue dry run', asked],
    queryFn: () =>
      callApi<{ matching: number }>('POST', '/v1/dead-letters/requeue', {
        body: { filter: asked, dryRun: true },
      }),
    staleTime: 0,
    gcTime: 0,
  })
  const matching = data?.matching ?? 0
  return (
    <ActionDialog
      title="Requeue dead letters"
      action={matching > 0 ? `Requeue ${formatCount(matching)}` : 'Requeue'}
      disabled={matching === 0}
      onClose={onClose}
      onSubmit={async () => {
        await callApi('POST', '/v1/dead-letters/requeue', { body: { filter: asked }, idempotencyKey })
        onClose()
        await client.invalidateQueries({ queryKey: ['/v1/sagas'] })
      }}
    >
      <p>
        {error
          ? ''
          : data === undefined
            ? 'Counting …'
            : matching === 0
              ? 'Nothing to requeue: all matching dead letters have already been requeued.'
              : `${formatCount(matching)} dead letters match. Each is delivered again with the same payload.`}
      </p>
      {error && <ProblemNotice error={error} />}
      {'all' in asked ? (
        <p className="text-soft">No filter is set: all dead letters are requeued.</p>
      ) : (
        <dl className="rounded-md bg-raised px-3 py-2">
          {Object.entries(given).map(([name, value]) => (
            <div key={name} className="flex gap-3">
              <dt className="w-32 text-soft">{labels[name] ?? name}</dt>
              <dd className="mono truncate">{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </ActionDialog>
  )
}
