export { findRunningServer } from './find-running-server.js'
export { openDataDir } from './open-data-dir.js'
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from './start-embedded-postgres.js'
