export { type Breaker, type BreakerPolicy, readBreakers } from './breakers/index.js'
export { startCleaner } from './cleaner/index.js'
export {
  checkFilter,
  type DeadLetterMatch,
  getDeadLetter,
  listDeadLetters,
  requeueDeadLetter,
} from './dead-letters/index.js'
export {
  createEventStore,
  type EventStore,
  expireEventKeys,
  payloadText,
  publish,
  type StoreOutcome,
  storeEvents,
} from './ingestion/index.js'
export { cancelDelivery, startEnding, startOrchestrator } from './orchestrator/index.js'
export { getDelivery, getEvent, listDeliveries, listEvents, listSetAsideEvents } from './reading/index.js'
export { type RequeuedEvents, requeueEvents, startRouter } from './router/index.js'
export { startWorker } from './worker/index.js'
