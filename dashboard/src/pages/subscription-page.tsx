import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link } from 'wouter'
import {
  callApi,
  type Delivery,
  type StatisticsPoint,
  type Subscription,
  useList,
  useMay,
  useOne,
} from '../api/index.js'
import {
  DataList,
  EmptyState,
  Facts,
  formatCount,
  formatDuration,
  formatShare,
  LongValue,
  Page,
  Panel,
  ProblemNotice,
  Skeleton,
  showText,
  Time,
} from '../parts/index.js'
import { useDeliveryColumns } from './delivery-columns.js'
import { Charts, drawPast } from './overview-page.js'
import { SubscriptionActions } from './subscription-actions.js'
import { SubscriptionState } from './subscription-state.js'
import { successOf, useHealth } from './subscriptions-page.js'

export function SubscriptionPage({ id }: { id: string }) {
  const { data, error } = useOne<Subscription>(`/v1/subscriptions/${encodeURIComponent(id)}`)
  const mayRead = useMay('read')
  return (
    <Page
      title={`Subscription ${showText(id)}`}
      back={{ href: '/subscriptions', label: 'Subscriptions' }}
      badge={data && <SubscriptionState subscription={data} />}
      actions={data && !data.deletedAt && <SubscriptionActions subscription={data} />}
    >
      {error && <ProblemNotice error={error} />}
      {!data && !error && <Skeleton />}
      {data && (
        <>
          <Settings subscription={data} />
          <Health subscription={data} />
          {mayRead && <LastHour id={data.id} />}
          {mayRead && <LatestDeliveries id={data.id} />}
        </>
      )}
    </Page>
  )
}

function Settings({ subscription }: { subscription: Subscription }) {
  const {
    eventType,
    callbackUrl,
    maxAttempts,
    headers,
    createdAt,
    updatedAt,
    deletedAt,
    deactivationReason,
  } = subscription
  return (
    <Panel title="Settings">
      <Facts
        facts={[
          ['Event type', <LongValue key="type" text={eventType} label="event type" />],
          [
            'Callback',
            <LongValue key="url" text={callbackUrl} shown={showText(callbackUrl)} label="callback" />,
            'long',
          ],
          ['Attempts', maxAttempts ?? 'default'],
          ['Created', <Time key="created" at={createdAt} whole />],
          ['Changed', <Time key="changed" at={updatedAt} whole />],
          ...(deletedAt ? [['Deleted', <Time key="deleted" at={deletedAt} whole />] as const] : []),
          ...(deactivationReason ? [['Deactivated', showText(deactivationReason)] as const] : []),
          ...Object.entries(headers).map(
            ([name, value]) =>
              [
                showText(name),
                <span key={name} className="mono">
                  {showText(value)}
                </span>,
              ] as const,
          ),
        ]}
      />
    </Panel>
  )
}

function Health({ subscription }: { subscription: Subscription }) {
  const health = useHealth([subscription.id]).get(subscription.id)
  const { breaker } = subscription
  return (
    <Panel title="Health, last hour">
      <Facts
        facts={[
          ['Success', formatShare(successOf(health))],
          ['Attempts', health && formatCount(health.succeeded + health.failed)],
          ['Dead-lettered', health && formatCount(health.deadLettered)],
          ['Median', formatDuration(health?.p50Ms)],
          ['95th percentile', formatDuration(health?.p95Ms)],
          [
            'Last error',
            health?.lastErrorCode && health.lastErrorAt && (
              <>
                <span className="mono text-bad">{showText(health.lastErrorCode)}</span>{' '}
                <Time at={health.lastErrorAt} />
              </>
            ),
          ],
          ...(breaker
            ? [
                ['Failing since', <Time key="since" at={breaker.failingSince} whole />] as const,
                ['Consecutive', `${formatCount(breaker.failures)} failures`] as const,
                ...(breaker.nextProbeAt
                  ? [['Next probe', <Time key="probe" at={breaker.nextProbeAt} />] as const]
                  : []),
              ]
            : []),
        ]}
      />
    </Panel>
  )
}

function LastHour({ id }: { id: string }) {
  const { data, error } = useQuery({
    queryKey: ['/v1/statistics', 'hour', id],
    queryFn: () =>
      callApi<{ data: StatisticsPoint[] }>('GET', '/v1/statistics', {
        query: { range: 'hour', subscriptionId: id },
      }),
    refetchInterval: 10_000,
  })
  const drawn = useMemo(() => drawPast(data?.data ?? [], 'hour'), [data])
  if (error && !data) return <ProblemNotice error={error} />
  return data ? <Charts {...drawn} /> : <Skeleton />
}

function LatestDeliveries({ id }: { id: string }) {
  const list = useList<Delivery>('/v1/deliveries', { subscriptionId: id, limit: 10 })
  const columns = useDeliveryColumns()
  return (
    <>
      <h2 className="mb-2 flex items-center justify-between font-semibold">
        Latest deliveries
        <Link href={`/deliveries?subscriptionId=${id}`} className="link font-normal">
          View all
        </Link>
      </h2>
      <DataList
        label="Deliveries"
        list={{ ...list, hasMore: false }}
        columns={columns}
        keyOf={(each) => each.id}
        hrefOf={(each) => `/deliveries/${each.id}`}
        empty={<EmptyState title={list.hasMore ? 'None among the latest deliveries' : 'No deliveries yet'} />}
      />
    </>
  )
}
