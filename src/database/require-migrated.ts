import { SagapostError } from '../errors/index.js'
import { checkReadiness, explainObstacle } from './check-readiness.js'
import { loadMigrations, migrationsFolder } from './load-migrations.js'
import { createRolePool } from './role-pool.js'

/**
 * Obstacles that do not prevent the parts from starting: they create partitions themselves, and a standby may be
 * promoted while they wait.
 */
const WAITED_FOR: readonly string[] = ['partition_headroom_low', 'database_read_only']

/** Throws the obstacle that prevents the parts from starting, if any. */
export async function requireMigrated(databaseUrl: string): Promise<void> {
  const pool = createRolePool({ databaseUrl, role: 'saga_readonly_role', connectionsMax: 1 })
  try {
    const obstacles = await checkReadiness(pool, await loadMigrations(migrationsFolder))
    const obstacle = obstacles.find(({ code }) => !WAITED_FOR.includes(code))
    if (obstacle) throw new SagapostError(obstacle.code, explainObstacle(obstacle))
  } finally {
    await pool.end()
  }
}
