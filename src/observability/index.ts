export { type BacklogCollector, createBacklogCollector } from './collect-backlog.js'
export { createLog, type LogLevel, logLevels } from './create-log.js'
export { createMetrics, type LoopPart, type Metrics, type Recorders } from './create-metrics.js'
export { correlationIdOf, logFields } from './log-fields.js'
