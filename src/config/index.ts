// Short commands load this folder: nothing here may load another part.
export type { LogLevel } from './log-levels.js'
export { hasLoginPerRole, ROLE_PLACE } from './login-per-role.js'
export { invalidMasterKey, MASTER_KEY_BYTES, parseMasterKey } from './parse-master-key.js'
export { type Config, readConfig } from './read-config.js'
