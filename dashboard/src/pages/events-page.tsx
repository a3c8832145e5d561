import { useLocation } from 'wouter'
import { type SagapostEvent, useList } from '../api/index.js'
import {
  type Column,
  DataList,
  FilterBar,
  FilterField,
  NothingFound,
  Page,
  PeriodFilter,
  periodOf,
  showText,
  Time,
  textOf,
  useFilters,
} from '../parts/index.js'

const columns: readonly Column<SagapostEvent>[] = [
  { title: 'Event', cell: ({ id }) => id },
  { title: 'Type', cell: ({ type }) => <span className="mono">{type}</span>, grow: 'narrow' },
  {
    title: 'Correlation id',
    cell: ({ correlationId }) => <span className="mono text-soft">{showText(correlationId ?? '')}</span>,
    wide: true,
    grow: true,
  },
  { title: 'Published', cell: ({ createdAt }) => <Time at={createdAt} />, right: true },
]

export function EventsPage() {
  const { values, set, clear, isFiltered } = useFilters(['type', 'idempotencyKey', 'from', 'to'])
  const [, navigate] = useLocation()
  const list = useList<SagapostEvent>('/v1/events', values)
  const search = (form: FormData) => {
    const id = textOf(form, 'id').trim()
    if (id !== '') return navigate(`/events/${encodeURIComponent(id)}`)
    set({
      type: textOf(form, 'type'),
      idempotencyKey: textOf(form, 'idempotencyKey'),
      ...periodOf(form),
    })
  }
  return (
    <Page title="Events">
      <FilterBar onSubmit={search} onClear={clear} isFiltered={isFiltered}>
        <FilterField name="type" label="Type" value={values.type} placeholder="order.placed" isMain />
        <FilterField name="id" label="Event id" value="" placeholder="1042 or a webhook id" />
        <FilterField name="idempotencyKey" label="Idempotency key" value={values.idempotencyKey} />
        <PeriodFilter from={values.from} to={values.to} />
      </FilterBar>
      <DataList
        label="Events"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/events/${id}`}
        empty={
          <NothingFound filtered={isFiltered} title="No events yet">
            Publish one: <code className="mono">npx sagapost publish demo.hello '{'{"hello":"you"}'}'</code>
          </NothingFound>
        }
      />
    </Page>
  )
}
