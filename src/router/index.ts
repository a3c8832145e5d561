export { hasUnroutedEvents, routeEvents } from './route-events.js'
export { createSubscriptionCache } from './subscription-cache.js'
