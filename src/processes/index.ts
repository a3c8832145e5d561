export { keepRegistered } from './keep-registered.js'
export { listProcesses, type RunningProcess } from './list-processes.js'
