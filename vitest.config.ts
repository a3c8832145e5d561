import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

// No limit here says how fast anything is: a machine may be many times slower than ours, and busy with something else.
const shared = {
  // Files share the modules of their worker: to load them anew for each took a sixth of the CPU. What a file changes, it puts back.
  isolate: false,
  globalSetup: ['test/support/start-postgres.ts'],
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 60_000, interval: 20 } },
  // The command line that runs in the process of a test prints no colours, also where CI asks for them.
  env: { NO_COLOR: '1' },
}

const slow = 'test/**/*.slow.test.ts'

// The README's `npx sagapost` builds the package anew where npx has not linked it yet: nobody else may be starting it then.
const endToEnd = ['test/e2e/**/*.test.ts', 'test/repository/readme.test.ts']

/** Each takes a minute or so: begun last, they would have the machine for themselves. */
const longest =
  /(model|many-processes|fault-schedules|bench|killed-processes|construct-crashes)\.slow\.test\.ts$/

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification) => longest.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

// `npm test` runs the project postgres-18: the newest PostgreSQL that comes embedded, in this process. `npm run test:rest`
// runs the others: crashes, browsers, processes, PostgreSQL 15. A project's name tells start-postgres.ts the version.
export default defineConfig({
  test: {
    // The tests wait for PostgreSQL, for sockets and for processes of theirs as much as they compute.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'postgres-18',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, slow, ...endToEnd],
        },
      },
      { test: { ...shared, name: 'slow', include: [slow] } },
      // The schema and its checks, on the oldest version that is supported.
      {
        test: {
          ...shared,
          name: 'postgres-15',
          include: [
            'test/schema/**/*.test.ts',
            'test/doctor/**/*.test.ts',
            'test/sagas/storage/storage-conformance.test.ts',
            'test/sagas/storage/postgres/postgres-storage.test.ts',
            'test/sagas/storage/postgres/event-partitions.test.ts',
            'test/sagas/storage/postgres/maintenance.test.ts',
          ],
        },
      },
      // Last and one file at a time: their processes fill the machine.
      {
        test: {
          ...shared,
          name: 'e2e',
          include: endToEnd,
          exclude: [...configDefaults.exclude, slow],
          testTimeout: 600_000,
          fileParallelism: false,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
