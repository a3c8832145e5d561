import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import {
  type CreatedSubscription,
  callApi,
  type EndpointHealth,
  type Subscription,
  useList,
  useMay,
} from '../api/index.js'
import {
  type Column,
  DataList,
  EventTypeFilter,
  FilterBar,
  FilterSelect,
  formatDuration,
  formatShare,
  NothingFound,
  Page,
  showText,
  textOf,
  useFilters,
} from '../parts/index.js'
import { SecretDialog } from './secret-dialog.js'
import { SubscriptionForm } from './subscription-form.js'
import { SubscriptionState } from './subscription-state.js'

/** Health of the endpoints of these subscriptions, in one request for the whole page. */
export function useHealth(ids: readonly string[]): ReadonlyMap<string, EndpointHealth> {
  const query = { ids: ids.slice(0, 200).join(',') }
  const { data } = useQuery({
    queryKey: ['/v1/statistics/subscriptions', query],
    queryFn: () => callApi<{ data: EndpointHealth[] }>('GET', '/v1/statistics/subscriptions', { query }),
    refetchInterval: 10_000,
    enabled: ids.length > 0,
  })
  return new Map(data?.data.map((each) => [each.subscriptionId, each]))
}

export function successOf(health: EndpointHealth | undefined): number | null {
  const attempts = health ? health.succeeded + health.failed : 0
  return health && attempts > 0 ? health.succeeded / attempts : null
}

export function SubscriptionsPage() {
  const { values, set, clear, isFiltered } = useFilters(['eventType', 'active', 'deleted'])
  const deleted = values.deleted || 'false'
  const list = useList<Subscription>('/v1/subscriptions', {
    eventType: values.eventType,
    active: { active: 'true', inactive: 'false' }[values.active],
    deleted,
  })
  const health = useHealth(list.items.map(({ id }) => id))
  const mayChange = useMay('changeSubscriptions')
  const [isCreating, setIsCreating] = useState(false)
  const [created, setCreated] = useState<CreatedSubscription>()
  const client = useQueryClient()

  const columns: Column<Subscription>[] = [
    { title: 'Subscription', cell: ({ id }) => id },
    { title: 'State', cell: (each) => <SubscriptionState subscription={each} /> },
    { title: 'Type', cell: ({ eventType }) => <span className="mono">{eventType}</span>, grow: 'narrow' },
    {
      title: 'Callback',
      cell: ({ callbackUrl }) => <span title={showText(callbackUrl)}>{showText(callbackUrl)}</span>,
      wide: true,
      grow: true,
    },
    {
      title: 'Success, 1 h',
      cell: ({ id }) => formatShare(successOf(health.get(id))),
      right: true,
      wide: true,
    },
    { title: '95 %', cell: ({ id }) => formatDuration(health.get(id)?.p95Ms), right: true, wide: true },
    {
      title: 'Last error, 1 h',
      cell: ({ id }) => (
        <span className="mono text-bad">{showText(health.get(id)?.lastErrorCode ?? '')}</span>
      ),
      wide: true,
    },
  ]

  return (
    <Page
      title="Subscriptions"
      actions={
        mayChange && (
          <button type="button" className="button button-primary" onClick={() => setIsCreating(true)}>
            New subscription
          </button>
        )
      }
    >
      <FilterBar
        onSubmit={(form) =>
          set({
            eventType: textOf(form, 'eventType'),
            active: textOf(form, 'active'),
            deleted: textOf(form, 'deleted') === 'deleted' ? 'true' : '',
          })
        }
        onClear={clear}
        isFiltered={isFiltered}
      >
        <EventTypeFilter value={values.eventType} />
        <FilterSelect name="active" label="Active" value={values.active} options={['active', 'inactive']} />
        <FilterSelect
          name="deleted"
          label="Deleted"
          value={values.deleted === 'true' ? 'deleted' : ''}
          options={['deleted']}
          unset="not deleted"
        />
      </FilterBar>
      <DataList
        label="Subscriptions"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/subscriptions/${id}`}
        empty={
          <NothingFound filtered={isFiltered} title="No subscriptions yet">
            A subscription sends events of one type to a callback URL.
          </NothingFound>
        }
      />
      {isCreating && (
        <SubscriptionForm
          title="New subscription"
          action="Create"
          onClose={() => setIsCreating(false)}
          onSubmit={async (body, idempotencyKey) => {
            setCreated(
              await callApi<CreatedSubscription>('POST', '/v1/subscriptions', { body, idempotencyKey }),
            )
            setIsCreating(false)
            await client.invalidateQueries({ queryKey: ['/v1/subscriptions'] })
          }}
        />
      )}
      {created && (
        <SecretDialog
          secret={created.secret}
          note={`Subscription ${created.id} was created. It stays inactive until its callback is verified.`}
          next={{ href: `/subscriptions/${created.id}`, label: 'View subscription' }}
          onClose={() => setCreated(undefined)}
        />
      )}
    </Page>
  )
}
