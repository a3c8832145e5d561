/** DBOS with its defaults, without its console and telemetry: a workflow of three steps. */
import { DBOS } from '@dbos-inc/dbos-sdk'
import { answerCommands } from '../harness/talk-to-parent.js'
import { runConcurrently } from '../sagas/run-concurrently.js'
import { type SagaSystemOptions, stepWork } from '../sagas/saga-system.js'

const workflow = DBOS.registerWorkflow(
  async (order: number) => {
    await DBOS.runStep(async () => stepWork('reserve', order), { name: 'reserve' })
    await DBOS.runStep(async () => stepWork('charge', order), { name: 'charge' })
    return DBOS.runStep(async () => stepWork('ship', order), { name: 'ship' })
  },
  { name: 'bench' },
)

const commands = {
  start: async ({ databaseUrl, connections }: SagaSystemOptions) => {
    DBOS.setConfig({
      name: 'bench',
      systemDatabaseUrl: databaseUrl,
      systemDatabasePoolSize: connections,
      logLevel: 'error',
      enableOTLP: false,
      tracingEnabled: false,
    })
    await DBOS.launch()
  },
  run: (count: number, concurrency: number) =>
    runConcurrently(count, concurrency, (order) => workflow(order)),
  stop: () => DBOS.shutdown(),
}
export type DbosCommands = typeof commands
answerCommands(commands)
