import { defineConfig } from 'vitest/config'

const shared = {
  globalSetup: ['test/support/start-postgres.ts'],
  testTimeout: 60_000,
  hookTimeout: 60_000,
}

// Everything on the newest PostgreSQL that comes embedded; the schema on the oldest supported one as well.
// The project's name tells start-postgres.ts which.
export default defineConfig({
  test: {
    projects: [
      { test: { ...shared, name: 'postgres-18', include: ['test/**/*.test.ts'] } },
      { test: { ...shared, name: 'postgres-15', include: ['test/schema/**/*.test.ts'] } },
    ],
  },
})
