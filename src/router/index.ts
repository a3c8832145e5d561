export type { RefusedEvent } from './make-sagas.js'
export { lookForUnrouted, type RoutedBatch, routeEvents } from './route-events.js'
export { spreadEvents } from './spread-events.js'
export { createSubscriptionCache } from './subscription-cache.js'
