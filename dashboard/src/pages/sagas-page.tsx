import { sagaMachine } from '../../../src/model/index.js'
import { type Saga, useList } from '../api/index.js'
import {
  Badge,
  type Column,
  DataList,
  FilterBar,
  FilterField,
  FilterSelect,
  NothingFound,
  Page,
  StatusBadge,
  showText,
  Time,
  textOf,
  useFilters,
} from '../parts/index.js'

const columns: readonly Column<Saga>[] = [
  {
    title: 'Saga',
    cell: ({ id }) => (
      <span title={id}>
        {id.slice(0, 8)}…{id.slice(-4)}
      </span>
    ),
  },
  {
    title: 'State',
    cell: ({ state, awaitingOperator }) => (
      <span className="flex gap-1.5">
        <StatusBadge status={state} />
        {awaitingOperator && <Badge tone="bad">Needs an operator</Badge>}
      </span>
    ),
  },
  {
    title: 'Definition',
    cell: ({ definition }) => <span className="mono">{showText(definition)}</span>,
    grow: 'narrow',
  },
  {
    title: 'Key',
    cell: ({ key }) => <span className="mono text-soft">{showText(key ?? '')}</span>,
    wide: true,
    grow: true,
  },
  {
    title: 'Step',
    cell: ({ currentStep, totalSteps }) => `${Math.min(currentStep + 1, totalSteps)} of ${totalSteps}`,
    right: true,
    wide: true,
  },
  { title: 'Changed', cell: ({ updatedAt }) => <Time at={updatedAt} />, right: true, wide: true },
  { title: 'Started', cell: ({ createdAt }) => <Time at={createdAt} />, right: true },
]

const names = ['state', 'definition', 'traceId', 'awaitingOperator'] as const

export function SagasPage() {
  const { values, set, clear, isFiltered } = useFilters(names)
  const list = useList<Saga>('/v1/sagas', values)
  return (
    <Page title="Sagas">
      <FilterBar
        onSubmit={(form) =>
          set({
            state: textOf(form, 'state'),
            definition: textOf(form, 'definition'),
            traceId: textOf(form, 'traceId'),
            awaitingOperator: textOf(form, 'awaitingOperator') === 'an operator' ? 'true' : '',
          })
        }
        onClear={clear}
        isFiltered={isFiltered}
      >
        <FilterSelect name="state" label="State" value={values.state} options={sagaMachine.statuses} />
        <FilterSelect
          name="awaitingOperator"
          label="Waiting for"
          value={values.awaitingOperator === 'true' ? 'an operator' : ''}
          options={['an operator']}
        />
        <FilterField
          name="definition"
          label="Definition"
          value={values.definition}
          placeholder="checkout"
          isMain
        />
        <FilterField name="traceId" label="Trace id" value={values.traceId} />
      </FilterBar>
      <DataList
        label="Sagas"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => `/sagas/${id}`}
        empty={
          <NothingFound filtered={isFiltered} title="No sagas yet">
            Applications start sagas from TypeScript; a requeue by filter is also a saga.
          </NothingFound>
        }
      />
    </Page>
  )
}
