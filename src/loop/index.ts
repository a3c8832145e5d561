export { type Loop, ROUND_SPACING_MS, ROUND_SPACING_MS_MAX, startLoop } from './start-loop.js'
export { createWakeups, type Stage, stages, type Wakeups } from './wakeups.js'
export { within } from './within.js'
