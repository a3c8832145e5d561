export { createBacklogCollector, type StageBacklog } from './backlog/index.js'
export { countWaitingLetters, type Snapshot, watchSystem } from './live/index.js'
export { correlationIdOf, createLog, logFailure, logFields, redactFields } from './log/index.js'
export { createMetrics, type LoopPart, type Metrics, type Recorders } from './metrics/index.js'
export {
  createResultCounter,
  type EventCounter,
  expireMinutes,
  keepDeliveryMinutes,
  keepEventMinutes,
  type ResultCounter,
  readHealth,
  readStatistics,
  type StatisticsRange,
} from './statistics/index.js'
export {
  describeSystem,
  LOST_AFTER_MS,
  listProcesses,
  type RunningProcess,
  startRegistration,
} from './system/index.js'
