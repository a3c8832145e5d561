import { SagapostError } from '../errors/index.js'
import { checkReadiness } from './check-readiness.js'
import { loadMigrations, migrationsFolder } from './load-migrations.js'
import { createRolePool } from './role-pool.js'

/** Throws what keeps the parts from starting. Few event ids left is no obstacle: the parts themselves make more. */
export async function requireMigrated(databaseUrl: string): Promise<void> {
  const pool = createRolePool({ databaseUrl, role: 'saga_readonly_role', connectionsMax: 1 })
  try {
    const [obstacle] = await checkReadiness(pool, await loadMigrations(migrationsFolder))
    if (obstacle && obstacle.code !== 'partition_headroom_low')
      throw new SagapostError(obstacle.code, obstacle.detail)
  } finally {
    await pool.end()
  }
}
