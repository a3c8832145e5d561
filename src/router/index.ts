export type { RefusedEvent } from './make-sagas.js'
export { hasUnroutedEvents, routeEvents } from './route-events.js'
export { createSubscriptionCache } from './subscription-cache.js'
