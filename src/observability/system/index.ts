export { describeSystem } from './describe-system.js'
export { listProcesses, type RunningProcess } from './list-processes.js'
export { LOST_AFTER_MS, startRegistration } from './registration.js'
