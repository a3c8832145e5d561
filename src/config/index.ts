export { parseDuration } from './parse-duration.js'
export { type Config, readConfig } from './read-config.js'
