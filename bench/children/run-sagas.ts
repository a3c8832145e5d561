/** Sagapost's coordinator of general sagas, with its defaults: three steps, and the full history of each saga. */

import { answerCommands } from '../harness/talk-to-parent.js'
import { loadBuiltSagas } from '../sagas/load-built-sagas.js'
import { runConcurrently } from '../sagas/run-concurrently.js'
import { type SagaSystemOptions, stepWork } from '../sagas/saga-system.js'

const { createRolePool } = await loadBuiltSagas.database()
const { createCoordinator, createPostgresStorage, saga } = await loadBuiltSagas.sagas()

const definition = saga<{ order: number }>('bench')
  .step('reserve', { run: ({ input }) => stepWork('reserve', input.order) })
  .step('charge', { run: ({ input }) => stepWork('charge', input.order) })
  .step('ship', { run: ({ input }) => stepWork('ship', input.order) })

let pool: ReturnType<typeof createRolePool>
let coordinator: ReturnType<typeof createCoordinator>

const commands = {
  start: async ({ databaseUrl, connections }: SagaSystemOptions) => {
    pool = createRolePool({ databaseUrl, role: 'saga_app_role', connectionsMax: connections })
    coordinator = createCoordinator({
      storage: createPostgresStorage({ pool }),
      definitions: [definition],
      onError: (error) => console.error(error),
    })
  },
  run: (count: number, concurrency: number) =>
    runConcurrently(count, concurrency, async (order) => {
      const handle = await coordinator.start(definition, { order })
      const { state, result } = await handle.result()
      if (state !== 'Completed') throw new Error(`saga ${handle.id} ended as ${state}`)
      return result
    }),
  stop: async () => {
    await coordinator.stop()
    await pool.end()
  },
}
export type SagaCommands = typeof commands
answerCommands(commands)
