import type pg from 'pg'
import type { Logger } from 'pino'
import { errorCatalogue } from '../errors/index.js'
import { within } from '../loop/index.js'
import { checkReadiness, type Obstacle } from './check-readiness.js'
import { checkWrites } from './check-writes.js'
import type { DatabaseWatch } from './database-watch.js'
import { loadMigrations, migrationsFolder } from './load-migrations.js'
import { createRolePool } from './role-pool.js'

/** However many ask. */
const LOOK_EVERY_MS = 1_000
/** A commit costs a flush; one that failed is tried again with the next look. */
const WRITE_EVERY_MS = 5_000
/** Whoever asks wants to know now; a server that hangs is one that is away. */
const ANSWER_MS_MAX = 4_000
const STATEMENT_MS_MAX = 3_000

/** Whether this process can take work: one look for all who ask. It looks only when it is asked. */
export interface Readiness {
  /** What is in the way; an empty list means that it is ready. Never throws. */
  check(): Promise<readonly Obstacle[]>
  /** From now on it is not ready, since it will stop. */
  drain(): void
  /** The caller's to end. */
  pool: pg.Pool
}

export interface ReadinessOptions {
  databaseUrl: string
  log: Logger
  watch: DatabaseWatch
  /** Other times than these, for tests. */
  lookEveryMs?: number
  writeEveryMs?: number
}

/** On a connection of its own, so that it tells a database that hangs from a pool that is busy. */
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

  /** Once for each that is new; of a database that is away, the watch tells. */
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
