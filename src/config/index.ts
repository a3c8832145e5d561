export { type Config, readConfig } from './read-config.js'
