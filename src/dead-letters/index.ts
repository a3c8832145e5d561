export { countWaiting } from './count-waiting.js'
export type { DeadLetter } from './dead-letter.js'
export { defineRequeue } from './define-requeue.js'
export { discardEndedRequeues } from './discard-ended-requeues.js'
export { getDeadLetter, type WholeDeadLetter } from './get-dead-letter.js'
export { type DeadLetterFilter, listDeadLetters } from './list-dead-letters.js'
export { discardRequeue, requeueBatch } from './requeue-batch.js'
export { type Requeued, requeueDeadLetter } from './requeue-dead-letter.js'
export {
  countMatching,
  type RequeueFilter,
  requeueDeadLetters,
} from './requeue-dead-letters.js'
