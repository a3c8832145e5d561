import { deliveryMachine } from '../../../src/model/index.js'
import { type Delivery, useList } from '../api/index.js'
import {
  DataList,
  ErrorFilter,
  EventTypeFilter,
  FilterBar,
  FilterSelect,
  NothingFound,
  Page,
  SubscriptionFilter,
  textOf,
  useFilters,
} from '../parts/index.js'
import { useDeliveryColumns } from './delivery-columns.js'

const names = ['status', 'subscriptionId', 'eventType', 'errorCode'] as const

export function DeliveriesPage() {
  const { values, set, clear, isFiltered } = useFilters(names)
  const list = useList<Delivery>('/v1/deliveries', values)
  const columns = useDeliveryColumns()
  return (
    <Page title="Deliveries">
      <FilterBar
        onSubmit={(form) => set(Object.fromEntries(names.map((name) => [name, textOf(form, name)])))}
        onClear={clear}
        isFiltered={isFiltered}
      >
        <FilterSelect name="status" label="Status" value={values.status} options={deliveryMachine.statuses} />
        <EventTypeFilter value={values.eventType} />
        <SubscriptionFilter value={values.subscriptionId} />
        <ErrorFilter value={values.errorCode} />
      </FilterBar>
      <DataList
        label="Deliveries"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/deliveries/${id}`}
        empty={
          <NothingFound filtered={isFiltered} title="No deliveries yet">
            Each event creates one delivery for every active subscription to its type.
          </NothingFound>
        }
      />
    </Page>
  )
}
