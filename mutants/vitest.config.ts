import { defineConfig } from 'vitest/config'

/**
 * The project postgres-18 of the root's configuration with short limits: a mutant that makes its test wait for ever is
 * noticed within a minute or so, by the test itself.
 */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'postgres-18',
          globalSetup: ['test/support/start-postgres.ts'],
          include: ['test/**/*.test.ts'],
          // Of those end to end, the scenarios are short enough.
          exclude: ['**/node_modules/**', 'test/e2e/!(scenarios).test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 20_000, interval: 20 } },
        },
      },
    ],
  },
})
