export { type BacklogCollector, createBacklogCollector, type StageBacklog } from './backlog-collector.js'
