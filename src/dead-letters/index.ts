export type { DeadLetter } from './dead-letter.js'
export { getDeadLetter, type WholeDeadLetter } from './get-dead-letter.js'
export { type DeadLetterFilter, listDeadLetters } from './list-dead-letters.js'
export { type Requeued, requeueDeadLetter } from './requeue-dead-letter.js'
