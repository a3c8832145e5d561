import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { cutMember } from '../../../src/client/cut-member.js'
import { callApi, type DeadLetterWithPayload, useMay, useText } from '../api/index.js'
import {
  Facts,
  LongValue,
  Page,
  Panel,
  PayloadView,
  ProblemNotice,
  Skeleton,
  showText,
  Time,
} from '../parts/index.js'

export function DeadLetterPage({ id }: { id: string }) {
  const path = `/v1/dead-letters/${encodeURIComponent(id)}`
  const { data, error } = useText(path)
  const client = useQueryClient()
  const mayRequeue = useMay('requeue')
  const [failure, setFailure] = useState<Error | null>(null)
  const [busy, setBusy] = useState(false)
  const letter = data === undefined ? undefined : (JSON.parse(data) as DeadLetterWithPayload)
  const requeue = async () => {
    setBusy(true)
    setFailure(null)
    await callApi('POST', `${path}/requeue`).catch(setFailure)
    await client.invalidateQueries({ queryKey: [path] })
    setBusy(false)
  }
  return (
    <Page
      title={`Dead letter ${showText(id)}`}
      back={{ href: '/dead-letters', label: 'Dead letters' }}
      actions={
        letter &&
        mayRequeue &&
        letter.requeuedAs === null && (
          <button type="button" className="button button-primary" disabled={busy} onClick={requeue}>
            Requeue
          </button>
        )
      }
    >
      {error && <ProblemNotice error={error} />}
      {failure && (
        <div className="mb-4">
          <ProblemNotice error={failure} />
        </div>
      )}
      {!letter && !error && <Skeleton />}
      {letter && data !== undefined && (
        <>
          <Panel title="Dead letter">
            <Facts
              facts={[
                [
                  'Type',
                  <span key="type" className="mono">
                    {letter.eventType}
                  </span>,
                ],
                [
                  'Error',
                  letter.finalErrorCode && (
                    <span className="mono text-bad">{showText(letter.finalErrorCode)}</span>
                  ),
                ],
                ['Failed', <Time key="failed" at={letter.failedAt} whole />],
                ['Attempts', letter.attemptCount],
                ['Delivery', <Reference key="delivery" to="deliveries" id={letter.deliveryId} />],
                ['Event', <Reference key="event" to="events" id={letter.eventId} />],
                ['Webhook id', letter.webhookId && <LongValue text={letter.webhookId} label="webhook id" />],
                [
                  'Subscription',
                  <Reference key="subscription" to="subscriptions" id={letter.subscriptionId} />,
                ],
                ['Last worker', letter.workerId && <span className="mono">{showText(letter.workerId)}</span>],
                [
                  'Requeued as',
                  letter.requeuedAs ? (
                    <Reference key="requeued" to="deliveries" id={letter.requeuedAs} />
                  ) : (
                    'not yet'
                  ),
                ],
              ]}
            />
          </Panel>
          <PayloadView
            json={cutMember(data, 'payloadSnapshot') ?? 'null'}
            fileName={`dead-letter-${letter.id}.json`}
            title="Original payload"
          />
        </>
      )}
    </Page>
  )
}

function Reference({ to, id }: { to: string; id: string }) {
  return (
    <Link href={`/${to}/${id}`} className="link mono">
      {id}
    </Link>
  )
}
