export { cancelDelivery } from './cancel-delivery.js'
export { startEnding } from './start-ending.js'
export { startOrchestrator } from './start-orchestrator.js'
