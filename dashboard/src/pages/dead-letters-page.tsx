import { useState } from 'react'
import { type DeadLetter, useList, useMay } from '../api/index.js'
import {
  type Column,
  DataList,
  ErrorFilter,
  EventTypeFilter,
  FilterBar,
  NothingFound,
  Page,
  PeriodFilter,
  periodOf,
  SubscriptionFilter,
  showText,
  Time,
  textOf,
  useFilters,
} from '../parts/index.js'
import { useEndpointColumn } from './delivery-columns.js'
import { RequeueDialog } from './requeue-dialog.js'
import { RunningRequeues } from './running-requeues.js'

const columnsBefore: readonly Column<DeadLetter>[] = [
  { title: 'Dead letter', cell: ({ id }) => id },
  { title: 'Type', cell: ({ eventType }) => <span className="mono">{eventType}</span>, grow: 'narrow' },
  {
    title: 'Error',
    cell: ({ finalErrorCode }) => <span className="mono text-bad">{showText(finalErrorCode ?? '')}</span>,
  },
]
const columnsBehind: readonly Column<DeadLetter>[] = [
  { title: 'Attempts', cell: ({ attemptCount }) => attemptCount, right: true, wide: true },
  {
    title: 'Requeued as',
    cell: ({ requeuedAs }) => (requeuedAs ? <span className="mono">{requeuedAs}</span> : ''),
    wide: true,
  },
  { title: 'Failed', cell: ({ failedAt }) => <Time at={failedAt} />, right: true },
]

const names = ['subscriptionId', 'eventType', 'errorCode', 'from', 'to'] as const

export function DeadLettersPage() {
  const { values, set, clear, isFiltered } = useFilters(names)
  const list = useList<DeadLetter>('/v1/dead-letters', values)
  const columns = [...columnsBefore, useEndpointColumn<DeadLetter>(), ...columnsBehind]
  const mayRequeue = useMay('requeue')
  const [isOpen, setIsOpen] = useState(false)
  return (
    <Page
      title="Dead letters"
      actions={
        mayRequeue && (
          <button type="button" className="button button-primary" onClick={() => setIsOpen(true)}>
            {isFiltered ? 'Requeue matching' : 'Requeue all'}
          </button>
        )
      }
    >
      <RunningRequeues />
      <FilterBar
        onSubmit={(form) =>
          set({
            subscriptionId: textOf(form, 'subscriptionId'),
            eventType: textOf(form, 'eventType'),
            errorCode: textOf(form, 'errorCode'),
            ...periodOf(form),
          })
        }
        onClear={clear}
        isFiltered={isFiltered}
      >
        <EventTypeFilter value={values.eventType} />
        <ErrorFilter value={values.errorCode} />
        <SubscriptionFilter value={values.subscriptionId} />
        <PeriodFilter from={values.from} to={values.to} />
      </FilterBar>
      <DataList
        label="Dead letters"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/dead-letters/${id}`}
        empty={
          <NothingFound filtered={isFiltered} title="No dead letters">
            Deliveries that failed after their last attempt appear here, with their payload.
          </NothingFound>
        }
      />
      {isOpen && <RequeueDialog filter={values} onClose={() => setIsOpen(false)} />}
    </Page>
  )
}
