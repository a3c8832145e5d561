export { checkFilter, type DeadLetterMatch } from './check-filter.js'
export { getDeadLetter } from './get-dead-letter.js'
export { listDeadLetters } from './list-dead-letters.js'
export { requeueDeadLetter } from './requeue-dead-letter.js'
