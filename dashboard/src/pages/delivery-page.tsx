import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { type Attempt, type DeliveryWithAttempts, useOne, useSubscriptionNames } from '../api/index.js'
import {
  CopyButton,
  Countdown,
  EmptyState,
  Facts,
  formatDuration,
  LongValue,
  Page,
  Panel,
  ProblemNotice,
  Skeleton,
  StatusBadge,
  showText,
  TextArea,
  Time,
} from '../parts/index.js'
import { CancelDelivery } from './cancel-delivery.js'
import { StateDiagram } from './state-diagram.js'

/** An open delivery is polled more often. */
const MOVING_MS = 2_000

export function DeliveryPage({ id }: { id: string }) {
  const path = `/v1/deliveries/${encodeURIComponent(id)}`
  const { data, error } = useOne<DeliveryWithAttempts>(path, { refreshMs: MOVING_MS })
  const to = useSubscriptionNames().get(data?.subscriptionId ?? '')
  return (
    <Page
      title={`Delivery ${showText(id)}`}
      back={{ href: '/deliveries', label: 'Deliveries' }}
      badge={data && <StatusBadge status={data.status} />}
      actions={data && <CancelDelivery delivery={data} path={path} />}
    >
      {error && <ProblemNotice error={error} />}
      {!data && !error && <Skeleton />}
      {data && (
        <>
          <Panel title="Delivery">
            <Facts
              facts={[
                [
                  'Event',
                  <Link key="event" href={`/events/${data.eventId}`} className="link mono">
                    {data.eventId}
                  </Link>,
                ],
                ['Webhook id', data.webhookId && <LongValue text={data.webhookId} label="webhook id" />],
                [
                  'Subscription',
                  <Link
                    key="to"
                    href={`/subscriptions/${data.subscriptionId}`}
                    className="link"
                    title={showText(to?.callbackUrl ?? '')}
                  >
                    <span className="mono">{data.subscriptionId}</span>
                    {to && <span> {showText(to.callbackUrl)}</span>}
                  </Link>,
                  'long',
                ],
                ['Attempts', data.attemptCount],
                ['Created', <Time key="created" at={data.createdAt} whole />],
                ['Changed', <Time key="changed" at={data.updatedAt} whole />],
                [
                  'Last error',
                  data.finalErrorCode && (
                    <span className="mono text-bad">{showText(data.finalErrorCode)}</span>
                  ),
                ],
                ...(data.requeuedFrom
                  ? [
                      [
                        'Requeued from',
                        <Link key="from" href={`/dead-letters/${data.requeuedFrom}`} className="link">
                          dead letter {data.requeuedFrom}
                        </Link>,
                      ] as const,
                    ]
                  : []),
              ]}
            />
          </Panel>
          <Panel title="State">
            <StateDiagram status={data.status} attemptCount={data.attemptCount} />
          </Panel>
          <Timeline delivery={data} />
        </>
      )}
    </Page>
  )
}

function Timeline({ delivery }: { delivery: DeliveryWithAttempts }) {
  const { attempts, status, nextAttemptAt, createdAt, updatedAt } = delivery
  return (
    <Panel title="Timeline">
      <ol className="px-4 py-3">
        <Moment tone="bg-strong-line" time={createdAt}>
          Created from the event
        </Moment>
        {attempts.map((attempt, index) => (
          <Moment
            key={attempt.id}
            tone={
              attempt.status === 'Completed' ? 'bg-good' : attempt.status === 'Failed' ? 'bg-bad' : 'bg-info'
            }
            time={attempt.attemptAt}
          >
            <AttemptDetails attempt={attempt} number={index + 1} />
          </Moment>
        ))}
        {status === 'PendingRetry' && nextAttemptAt && (
          <Moment tone="bg-warn" time={nextAttemptAt}>
            Next try <Countdown to={nextAttemptAt} done="is due" />
          </Moment>
        )}
        {status === 'Completed' && (
          <Moment tone="bg-good" time={updatedAt}>
            Completed
          </Moment>
        )}
        {status === 'DeadLettered' && (
          <Moment tone="bg-bad" time={updatedAt}>
            Dead-lettered: {whyDead(delivery.finalErrorCode)}.{' '}
            <Link href={`/dead-letters?subscriptionId=${delivery.subscriptionId}`} className="link">
              Dead letters of this subscription
            </Link>
          </Moment>
        )}
      </ol>
      {attempts.length === 0 && status !== 'Pending' && <EmptyState title="No attempts recorded" />}
    </Panel>
  )
}

function whyDead(errorCode: string | null): string {
  if (errorCode === 'subscription_deleted') return 'the subscription was deleted'
  return errorCode === 'cancelled' ? 'it was cancelled' : 'the maximum number of attempts was reached'
}

function Moment({ tone, time, children }: { tone: string; time: string; children: ReactNode }) {
  return (
    <li className="relative flex gap-3 pb-4 pl-5 last:pb-0 before:absolute before:top-3 before:bottom-[-0.4rem] before:left-[4.5px] before:w-px before:bg-line last:before:hidden">
      <span className={`absolute top-1.5 left-0 size-2.5 rounded-full ${tone}`} />
      <div className="min-w-0 grow">{children}</div>
      <span className="shrink-0 text-soft">
        <Time at={time} />
      </span>
    </li>
  )
}

function AttemptDetails({ attempt, number }: { attempt: Attempt; number: number }) {
  const { status, responseStatus, errorCode, durationMs, workerId, leaseUntil, leaseResets } = attempt
  return (
    <div>
      <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <strong className="font-medium">Attempt {number}</strong>
        <StatusBadge status={status} />
        {responseStatus !== null && <span className="mono">HTTP {responseStatus}</span>}
        {errorCode && <span className="mono text-bad">{showText(errorCode)}</span>}
        {durationMs !== null && <span className="text-soft">took {formatDuration(durationMs)}</span>}
        {leaseUntil && (
          <span className="text-soft">
            lease expires <Countdown to={leaseUntil} done="now (expired)" />
          </span>
        )}
        {leaseResets > 0 && <span className="text-warn">lease lost {leaseResets} times</span>}
      </p>
      {workerId && (
        <p className="mono mt-0.5 truncate text-soft" title={workerId}>
          worker {showText(workerId)}
        </p>
      )}
      {attempt.responseExcerpt && (
        <details className="mt-1">
          <summary className="text-soft">Response</summary>
          <div className="mt-1 flex items-start gap-1">
            <TextArea
              label="Response"
              text={showText(attempt.responseExcerpt)}
              className="max-h-48 grow rounded bg-raised p-2"
            />
            <CopyButton text={attempt.responseExcerpt} label="response" />
          </div>
        </details>
      )}
    </div>
  )
}
