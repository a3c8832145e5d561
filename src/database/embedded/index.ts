export { findRunningServer } from './find-running-server.js'
export { openDataDir } from './open-data-dir.js'
export { type EmbeddedPostgres, startEmbeddedPostgres } from './start-embedded-postgres.js'
