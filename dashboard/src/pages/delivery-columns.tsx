import { type Delivery, useSubscriptionNames } from '../api/index.js'
import { type Column, Countdown, StatusBadge, showText, Time } from '../parts/index.js'

/** Of every list of deliveries. */
export function useDeliveryColumns({ withEvent = true } = {}): Column<Delivery>[] {
  const names = useSubscriptionNames()
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
      title: 'To',
      cell({ subscriptionId }) {
        const known = names.get(subscriptionId)
        if (!known) return <span className="mono">subscription {subscriptionId}</span>
        return (
          <span title={known.callbackUrl}>
            <span className="mono">{known.eventType}</span>{' '}
            <span className="text-soft">{showText(known.callbackUrl)}</span>
          </span>
        )
      },
      grow: true,
    },
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
    { title: 'Made', cell: ({ createdAt }) => <Time at={createdAt} />, right: true },
  ]
}
