import type { Caller } from '../../api-keys/index.js'
import type { Breaker } from '../../delivery/index.js'
import type { Subscription } from '../../subscriptions/index.js'
import { present } from '../present.js'
import { access } from '../require-scope.js'

const HIDDEN = '***'

/**
 * A subscription as JSON. Its headers may contain the receiver's credentials, so they are hidden from keys that cannot
 * change them, as they are from the read-only role in the database.
 */
export function presentSubscription(
  { headers, ...rest }: Subscription,
  caller: Caller | null,
  breaker: Breaker | undefined,
) {
  const mayRead = caller !== null && (access.changeSubscriptions as readonly string[]).includes(caller.scope)
  const shown = Object.entries(headers).map(([name, value]) => [name, mayRead ? value : HIDDEN])
  return {
    ...present(rest),
    headers: Object.fromEntries(shown) as Record<string, string>,
    breaker: breaker ? present(breaker) : null,
  }
}
