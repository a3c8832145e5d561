export { type Loop, startLoop } from './start-loop.js'
export { createWakeups, type Wakeups } from './wakeups.js'
