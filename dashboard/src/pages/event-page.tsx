import { cutMember } from '../../../src/client/cut-member.js'
import { type Delivery, type EventWithPayload, useList, useText } from '../api/index.js'
import {
  DataList,
  EmptyState,
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
import { useDeliveryColumns } from './delivery-columns.js'

export function EventPage({ id }: { id: string }) {
  const path = `/v1/events/${encodeURIComponent(id)}`
  const { data, error } = useText(path)
  const columns = useDeliveryColumns({ withEvent: false })
  const event = data === undefined ? undefined : (JSON.parse(data) as EventWithPayload)
  const deliveries = useList<Delivery>('/v1/deliveries', { eventId: event?.id ?? '' }, event !== undefined)
  return (
    <Page title={`Event ${showText(event?.id ?? id)}`} back={{ href: '/events', label: 'Events' }}>
      {error && <ProblemNotice error={error} />}
      {!event && !error && <Skeleton />}
      {event && data !== undefined && (
        <>
          <Panel title="Event">
            <Facts
              facts={[
                ['Type', <LongValue key="type" text={event.type} label="type" />],
                ['Published', <Time key="time" at={event.createdAt} whole />],
                ['Webhook id', <LongValue key="id" text={event.webhookId} label="webhook id" />],
                [
                  'Correlation id',
                  event.correlationId && (
                    <LongValue
                      text={event.correlationId}
                      shown={showText(event.correlationId)}
                      label="correlation id"
                    />
                  ),
                ],
              ]}
            />
          </Panel>
          <PayloadView json={cutMember(data, 'payload') ?? 'null'} fileName={`event-${event.id}.json`} />
          <h2 className="mb-2 font-semibold">Deliveries</h2>
          <DataList
            label="Deliveries"
            list={deliveries}
            columns={columns}
            keyOf={(each) => each.id}
            hrefOf={(each) => `/deliveries/${each.id}`}
            empty={
              <EmptyState title="No deliveries">
                No subscription to {event.type} was active when the event was routed.
              </EmptyState>
            }
          />
        </>
      )}
    </Page>
  )
}
