export { keepRegistered, LOST_AFTER_MS } from './keep-registered.js'
export { listProcesses, type RunningProcess } from './list-processes.js'
