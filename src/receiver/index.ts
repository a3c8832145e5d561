/**
 * `sagapost/receiver`: verifies and handles webhooks. It imports nothing of the server, and at run time only Node's
 * crypto.
 */
export type { HandlerOptions } from './answer-request.js'
export { fastifyPlugin } from './fastify-plugin.js'
export { fetchHandler } from './handle-fetch-request.js'
/** One function under two names: an Express request is a Node request. */
export { nodeHandler, nodeHandler as expressHandler } from './handle-node-request.js'
export type { Secrets } from './parse-secrets.js'
export type { WebhookEvent } from './read-event.js'
export type { WebhookHeaders } from './read-header.js'
export { type WebhookErrorCode, WebhookVerificationError } from './verification-error.js'
export { type VerifyOptions, verify } from './verify.js'
