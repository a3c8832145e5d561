import { type Delivery, useSubscriptionNames } from '../api/index.js'
import { type Column, Countdown, StatusBadge, showText, Time } from '../parts/index.js'

/** A column for the subscription, with its endpoint where it is known. */
export function useEndpointColumn<Item extends { subscriptionId: string }>(): Column<Item> {
  const names = useSubscriptionNames()
  return {
    title: 'Subscription',
    cell({ subscriptionId }) {
      const url = showText(names.get(subscriptionId)?.callbackUrl ?? '')
      return (
        <span title={url}>
          <span className="mono">{subscriptionId}</span> <span className="ml-1 text-soft">{url}</span>
        </span>
      )
    },
    wide: true,
    grow: true,
  }
}

/** The columns of every list of deliveries. */
export function useDeliveryColumns({ withEvent = true } = {}): Column<Delivery>[] {
  const names = useSubscriptionNames()
  const endpoint = useEndpointColumn<Delivery>()
  return [
    { title: 'Delivery', cell: ({ id }) => id },
    { title: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    ...(withEvent
      ? [
          {
            title: 'Event',
            cell: ({ eventId }: Delivery) => <span className="mono">{eventId}</span>,
            wide: true,
          },
        ]
      : []),
    {
      // The subscription's present type, which may have changed since the event was routed.
      title: 'Subscribed to',
      cell: ({ subscriptionId }) => (
        <span className="mono">{names.get(subscriptionId)?.eventType ?? '–'}</span>
      ),
      grow: 'narrow',
    },
    endpoint,
    {
      title: 'Error',
      cell: ({ finalErrorCode }) => <span className="mono text-bad">{showText(finalErrorCode ?? '')}</span>,
      wide: true,
    },
    { title: 'Attempts', cell: ({ attemptCount }) => attemptCount, right: true, wide: true },
    {
      title: 'Next',
      cell: ({ status, nextAttemptAt }) =>
        status === 'PendingRetry' && nextAttemptAt ? <Countdown to={nextAttemptAt} done="due" /> : '',
      right: true,
      wide: true,
    },
    { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} />, right: true },
  ]
}
