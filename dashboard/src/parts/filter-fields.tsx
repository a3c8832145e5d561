/** Filter fields that several lists share. */
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

/** The values of a PeriodFilter. */
export function periodOf(form: FormData): Period {
  return { from: toInstant(textOf(form, 'from')), to: toInstant(textOf(form, 'to')) }
}

/** Converts between a datetime-local field, in the browser's time zone, and the API's format. */
function toInstant(local: string): string {
  const at = new Date(local)
  return local === '' || Number.isNaN(at.getTime()) ? '' : at.toISOString()
}

function toLocal(instant: string): string {
  if (instant === '') return ''
  const at = new Date(instant)
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19)
}
