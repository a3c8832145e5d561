export { countWaitingLetters } from './count-waiting-letters.js'
export { type Snapshot, watchSystem } from './watch-system.js'
