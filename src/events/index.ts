export { expireEventKeys } from './expire-event-keys.js'
export { publish } from './publish.js'
export { storeEvents } from './store-events.js'
