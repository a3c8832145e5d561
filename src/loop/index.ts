export { ROUND_SPACING_MS, spaceRounds } from './space-rounds.js'
export { type Loop, startLoop } from './start-loop.js'
export { createWakeups, type Signal, type Stage, stages, type Wakeups } from './wakeups.js'
export { within } from './within.js'
