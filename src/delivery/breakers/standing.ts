/**
 * What the workers know of a subscription's endpoint: it answers, no worker has tried it, or its last deliveries
 * failed.
 */
export type Standing = 'answering' | 'untried' | 'failing'
