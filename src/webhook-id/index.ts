export { eventIdIn, eventTimeUs, webhookIdOf } from './webhook-id.js'
