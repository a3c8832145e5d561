export { createLog } from './create-log.js'
export { logFailure } from './log-failure.js'
export { correlationIdOf, logFields } from './log-fields.js'
export { redactFields } from './redact-fields.js'
