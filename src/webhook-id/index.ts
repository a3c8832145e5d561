export { readWebhookIds } from './read-webhook-ids.js'
export { eventIdIn, eventTimeUs, webhookIdOf } from './webhook-id.js'
