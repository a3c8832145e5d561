import type { Subscription } from '../api/index.js'
import { Badge } from '../parts/index.js'

/** The state of a subscription in one word. */
export function SubscriptionState({ subscription }: { subscription: Subscription }) {
  const { deletedAt, active, verified, breaker } = subscription
  if (deletedAt) return <Badge tone="mute">Deleted</Badge>
  if (!verified) return <Badge tone="mute">Not verified</Badge>
  if (!active) return <Badge tone="warn">Inactive</Badge>
  if (breaker?.state === 'open') return <Badge tone="bad">Paused</Badge>
  if (breaker) return <Badge tone="warn">Failing</Badge>
  return <Badge tone="good">Active</Badge>
}
