export { createEventStore, type EventStore } from './event-store.js'
export { expireEventKeys } from './expire-event-keys.js'
export { payloadText, publish } from './publish.js'
export { type StoreOutcome, storeEvents } from './store-events.js'
