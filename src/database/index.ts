export { abandonPool } from './abandon-connection.js'
export { createApplicationPool } from './application-pool.js'
export { checkReadiness, explainObstacle, type Obstacle } from './check-readiness.js'
export { checkTimeRange, type TimeRange } from './check-time-range.js'
export { checkWrites } from './check-writes.js'
export { connect, requireSingleLogin } from './connect.js'
export { cutBatch, type QueueRow } from './cut-batch.js'
export { databaseErrorCode, isRefusal, isSchemaMissing, LOCK_TIMED_OUT } from './database-errors.js'
export { createDatabaseWatch, type DatabaseWatch } from './database-watch.js'
export {
  type EmbeddedPostgres,
  findRunningServer,
  openDataDir,
  startEmbeddedPostgres,
} from './embedded/index.js'
export {
  FIRST_EVENT_ID,
  inEachSpan,
  RANGES_PER_SPAN,
  readEventSpans,
  selectEventSpans,
} from './event-spans.js'
export { inRange } from './in-range.js'
export { inTransaction } from './in-transaction.js'
export { isRowId } from './is-row-id.js'
export { keepPartitionsAhead } from './keep-partitions-ahead.js'
export { keepWorkWindow, type WorkWindowKeeper } from './keep-work-window.js'
export { listen } from './listen.js'
export { loadMigrations, type Migration, migrationsFolder } from './load-migrations.js'
export { type MigrationState, migrate, migrationStatus } from './migrate.js'
export { onConnection } from './on-connection.js'
export { isPoolEnded, type Outage, outageOf } from './outage.js'
export {
  encodeCursor,
  PAGE_ROWS_MAX,
  type Page,
  type PagePosition,
  type PageRequest,
  readIdCursor,
  readTimeCursor,
  rowsToRead,
  toPage,
} from './page-rows.js'
export { prepared } from './prepared.js'
export {
  byId,
  byTime,
  findInRanges,
  isWithin,
  readEveryRange,
  readInRanges,
  readRanges,
  readRangesOf,
  withinRange,
} from './read-ranges.js'
export { createReadiness } from './readiness.js'
export { requireMigrated } from './require-migrated.js'
export { createRolePool } from './role-pool.js'
export { type DatabaseRole, databaseRoles } from './roles.js'
export {
  type EventRange,
  groupByRange,
  newestRanges,
  rangeOf,
  visitInTurn,
  type WorkWindow,
} from './work-window.js'
