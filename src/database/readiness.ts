import type pg from 'pg'
import type { Logger } from 'pino'
import { errorCatalogue } from '../errors/index.js'
import { within } from '../loop/index.js'
import { checkReadiness, type Obstacle } from './check-readiness.js'
import { checkWrites } from './check-writes.js'
import type { DatabaseWatch } from './database-watch.js'
import { loadMigrations, migrationsFolder } from './load-migrations.js'
import { createRolePool } from './role-pool.js'

/** At most one look per interval, however many requests ask. */
const LOOK_EVERY_MS = 1_000
/** A commit costs a flush; after a failure the next look tries again. */
const WRITE_EVERY_MS = 5_000
/** The caller needs a prompt answer; a server that hangs counts as away. */
const ANSWER_MS_MAX = 4_000
const STATEMENT_MS_MAX = 3_000

/** Whether this process can take work: callers share one look, made only on request. */
export interface Readiness {
  /** Lists the obstacles; empty means ready. Never throws. */
  check(): Promise<readonly Obstacle[]>
  /** Reports that the process is not ready from now on, because it will stop. */
  drain(): void
  /** The caller ends it. */
  pool: pg.Pool
}

export interface ReadinessOptions {
  databaseUrl: string
  log: Logger
  watch: DatabaseWatch
  /** Overrides for tests. */
  lookEveryMs?: number
  writeEveryMs?: number
}

/** Uses a connection of its own, to distinguish a database that hangs from a busy pool. */
export async function createReadiness({
  databaseUrl,
  log,
  watch,
  lookEveryMs = LOOK_EVERY_MS,
  writeEveryMs = WRITE_EVERY_MS,
}: ReadinessOptions): Promise<Readiness> {
  const migrations = await loadMigrations(migrationsFolder)
  const pool = createRolePool({
    databaseUrl,
    role: 'schema_maintainer',
    connectionsMax: 1,
    queryTimeoutMs: STATEMENT_MS_MAX,
    watch,
  })
  let known: readonly Obstacle[] = []
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let wroteAtMs = Number.NEGATIVE_INFINITY
  let underWay: Promise<readonly Obstacle[]> | undefined
  let isDraining = false

  async function look(): Promise<readonly Obstacle[]> {
    const obstacles = await checkReadiness(pool, migrations)
    if (obstacles.length === 0 && performance.now() - wroteAtMs >= writeEveryMs) {
      obstacles.push(...((await checkWrites(pool)) ?? []))
      if (obstacles.length === 0) wroteAtMs = performance.now()
    }
    if (obstacles.length > 0) wroteAtMs = Number.NEGATIVE_INFINITY
    tell(obstacles)
    known = obstacles
    lookedAtMs = performance.now()
    return obstacles
  }

  /** Logs each new obstacle once; the watch logs a database that is away. */
  function tell(obstacles: readonly Obstacle[]): void {
    for (const obstacle of obstacles) {
      const isTold = known.some(({ code }) => code === obstacle.code)
      if (isTold || obstacle.code === 'database_unreachable') continue
      log.warn({ error_code: obstacle.code, reason: obstacle.cause }, `not ready: ${obstacle.detail}`)
    }
  }

  return {
    async check() {
      if (isDraining) return [{ code: 'stopping', detail: errorCatalogue.stopping.title }]
      if (performance.now() - lookedAtMs < lookEveryMs) return known
      underWay ??= look().finally(() => {
        underWay = undefined
      })
      return within(ANSWER_MS_MAX, underWay, () => [
        { code: 'database_unreachable', detail: errorCatalogue.database_unreachable.title },
      ])
    },
    drain() {
      isDraining = true
    },
    pool,
  }
}
