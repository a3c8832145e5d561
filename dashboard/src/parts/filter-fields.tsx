/** The fields that several lists have. */
import { FilterField, textOf } from './filters.js'

export function EventTypeFilter({ value }: { value: string }) {
  return <FilterField name="eventType" label="Event type" value={value} placeholder="order.placed" isMain />
}

export function SubscriptionFilter({ value }: { value: string }) {
  return <FilterField name="subscriptionId" label="Subscription" value={value} placeholder="id" />
}

export function ErrorFilter({ value }: { value: string }) {
  return <FilterField name="errorCode" label="Error" value={value} placeholder="http_500" />
}

interface Period {
  from: string
  to: string
}

export function PeriodFilter({ from, to }: Period) {
  return (
    <>
      <FilterField name="from" label="From" value={toLocal(from)} type="datetime-local" />
      <FilterField name="to" label="To" value={toLocal(to)} type="datetime-local" />
    </>
  )
}

/** What a PeriodFilter was filled with. */
export function periodOf(form: FormData): Period {
  return { from: toInstant(textOf(form, 'from')), to: toInstant(textOf(form, 'to')) }
}

/** A time of a datetime-local field, which is in the reader's zone, as the API takes it; and back. */
function toInstant(local: string): string {
  const at = new Date(local)
  return local === '' || Number.isNaN(at.getTime()) ? '' : at.toISOString()
}

function toLocal(instant: string): string {
  if (instant === '') return ''
  const at = new Date(instant)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
