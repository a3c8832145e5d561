import type { NamedTest } from '../mutant.js'

/** The tests of one file, by their titles. */
export const testsOf =
  (file: string) =>
  (title: string): NamedTest => ({ file, title })

export const tables = testsOf('test/schema/tables.test.ts')('[%s] %s has its columns, types and indexes')
export const rights = testsOf('test/schema/permissions.test.ts')(
  '[S20, J7, D5, E4, R4, G12, S8] %s may do exactly what its column says',
)
export const guards = testsOf('test/schema/guards.test.ts')
export const madeJobs = testsOf('test/schema/made-jobs.test.ts')
export const madeDeliveries = testsOf('test/schema/made-deliveries.test.ts')
export const rangeLocks = testsOf('test/schema/range-locks.slow.test.ts')
export const switchedOff = testsOf('test/delivery/router/switched-off.test.ts')
export const transitions = testsOf('test/schema/transitions.test.ts')
export const orchestrate = testsOf('test/delivery/orchestrator/orchestrate.test.ts')
export const resultQueue = testsOf('test/delivery/orchestrator/result-queue.test.ts')
export const routingQueue = testsOf('test/delivery/router/routing-queue.test.ts')
export const plans = testsOf('test/schema/plans.test.ts')
