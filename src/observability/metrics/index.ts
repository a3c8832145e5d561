export { createMetrics, type LoopPart, type Metrics, type Recorders } from './metrics.js'
