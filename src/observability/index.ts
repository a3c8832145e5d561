export { type BacklogCollector, createBacklogCollector } from './collect-backlog.js'
export { createMetrics, type LoopPart, type Metrics, type Recorders } from './create-metrics.js'
