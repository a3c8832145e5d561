export { type RequeuedEvents, requeueEvents } from './requeue-events.js'
export { startRouter } from './start-router.js'
