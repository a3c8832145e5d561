export { type Loop, ROUND_SPACING_MS, startLoop } from './start-loop.js'
export { createWakeups, type Stage, stages, type Wakeups } from './wakeups.js'
export { within } from './within.js'
