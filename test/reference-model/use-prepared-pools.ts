import type pg from 'pg'
import { afterAll } from 'vitest'
import { createRolePool, type DatabaseRole } from '../../src/database/index.js'
import type { TestDatabase } from '../support/database.js'
import type { RunDatabase } from './world.js'

/** Pools as `serve` has them: statements prepared by name, plans pinned. Ended with the file. */
export function usePreparedPools(database: TestDatabase): RunDatabase {
  const pools = new Map<DatabaseRole, pg.Pool>()
  afterAll(() => Promise.all([...pools.values()].map((pool) => pool.end())))
  return {
    get pool() {
      return database.pool
    },
    as(role) {
      const existing = pools.get(role)
      if (existing) return existing
      const shared = { databaseUrl: database.url, role, connectionsMax: 4 }
      const isReader = role === 'saga_readonly_role'
      const created = createRolePool({ ...shared, preparedStatements: true, pinnedPlans: !isReader })
      pools.set(role, created)
      return created
    },
  }
}
