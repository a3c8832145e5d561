export { type Loop, startLoop } from './start-loop.js'
export { createWakeups, type Stage, stages, type Wakeups } from './wakeups.js'
