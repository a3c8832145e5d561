export type { EventRefusal, NewEvent } from './check-event.js'
export { expireEventKeys } from './expire-event-keys.js'
export { publish } from './publish.js'
export { type StoreOutcome, storeEvents } from './store-events.js'
