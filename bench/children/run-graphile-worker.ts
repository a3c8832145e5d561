/** graphile-worker in its fastest documented configuration: a local queue, and completions in batches. */
import { Logger, makeWorkerUtils, type Runner, run, type WorkerUtils } from 'graphile-worker'
import { makeBody } from '../harness/make-body.js'
import { createPoster, type Poster } from '../harness/post-body.js'
import type { SystemOptions } from '../harness/system-options.js'
import { answerCommands } from '../harness/talk-to-parent.js'

const LOCAL_QUEUE_SIZE = 500
const COMPLETE_BATCH_MS = 5
/** With batching a job holds no connection; more than these were never busy. */
const CONNECTIONS_MAX = 20

let poster: Poster
let runner: Runner
let utils: WorkerUtils

const commands = {
  start: async ({ databaseUrl, url, authority, concurrency }: SystemOptions) => {
    poster = createPoster({ url, authority })
    const logger = new Logger(() => () => {})
    const worker = {
      connectionString: databaseUrl,
      concurrentJobs: concurrency,
      maxPoolSize: CONNECTIONS_MAX,
      localQueue: { size: LOCAL_QUEUE_SIZE },
      completeJobBatchDelay: COMPLETE_BATCH_MS,
      failJobBatchDelay: COMPLETE_BATCH_MS,
      logger,
    }
    utils = await makeWorkerUtils({ connectionString: databaseUrl, logger })
    await utils.migrate()
    runner = await run({
      preset: { worker },
      noHandleSignals: true,
      taskList: { post: (payload) => poster.post(JSON.stringify(payload)) },
    })
  },
  enqueue: async (count: number, batch: number) => {
    for (let first = 0; first < count; first += batch) {
      await utils.addJobs(
        Array.from({ length: Math.min(batch, count - first) }, (_, index) => ({
          identifier: 'post',
          payload: JSON.parse(makeBody(first + index)),
        })),
      )
    }
  },
  stop: async () => {
    await runner.stop()
    await utils.release()
    await poster.close()
  },
}
export type GraphileWorkerCommands = typeof commands
answerCommands(commands)
