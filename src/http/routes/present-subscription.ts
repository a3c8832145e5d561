import type { Caller } from '../../keys/index.js'
import type { Subscription } from '../../subscriptions/index.js'
import { access } from '../require-scope.js'

const HIDDEN = '***'

/**
 * A subscription as JSON. Its headers may hold the receiver's credentials: whoever may not change them does not read
 * them either, as in the database, where the read-only role may not.
 */
export function presentSubscription(subscription: Subscription, caller: Caller | null) {
  const mayRead = caller !== null && (access.changeSubscriptions as readonly string[]).includes(caller.scope)
  const { createdAt, updatedAt, deletedAt, headers, ...rest } = subscription
  return {
    ...rest,
    headers: mayRead ? headers : Object.fromEntries(Object.keys(headers).map((name) => [name, HIDDEN])),
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    deletedAt: deletedAt?.toISOString() ?? null,
  }
}
