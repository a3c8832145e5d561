/** pg-boss with large batches and the shortest polling that it allows. */
import PgBoss from 'pg-boss'
import { makeBody } from '../harness/make-body.js'
import { createPoster, type Poster } from '../harness/post-body.js'
import type { SystemOptions } from '../harness/system-options.js'
import { answerCommands } from '../harness/talk-to-parent.js'

const QUEUE = 'post'
const BATCH_SIZE = 500
const POLLING_S = 0.5
const CONNECTIONS_MAX = 20

let poster: Poster
let boss: PgBoss

const commands = {
  /** One worker is bound by its polling, at 1,000 jobs/s; with two, one posts while the other fetches. */
  start: async ({
    databaseUrl,
    url,
    authority,
    concurrency,
    workers = 1,
  }: SystemOptions & { workers?: number }) => {
    poster = createPoster({ url, authority })
    boss = new PgBoss({ connectionString: databaseUrl, max: CONNECTIONS_MAX, schedule: false })
    boss.on('error', (error) => console.error(error))
    await boss.start()
    await boss.createQueue(QUEUE)
    const slots = createSlots(concurrency)
    for (let worker = 0; worker < workers; worker++) {
      await boss.work(QUEUE, { batchSize: BATCH_SIZE, pollingIntervalSeconds: POLLING_S }, (jobs) =>
        Promise.all(jobs.map(({ data }) => slots(() => poster.post(JSON.stringify(data))))),
      )
    }
  },
  enqueue: async (count: number, batch: number) => {
    for (let first = 0; first < count; first += batch) {
      await boss.insert(
        Array.from({ length: Math.min(batch, count - first) }, (_, index) => ({
          name: QUEUE,
          data: JSON.parse(makeBody(first + index)),
        })),
      )
    }
  },
  stop: async () => {
    await boss.stop({ graceful: true, wait: true })
    await poster.close()
  },
}
export type PgBossCommands = typeof commands
answerCommands(commands)

/** Maximum concurrency over all batches. */
function createSlots(max: number): (work: () => Promise<void>) => Promise<void> {
  let free = max
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    await work().finally(() => {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    })
  }
}
