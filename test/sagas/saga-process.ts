/** A process that runs the sagas of a seed, and stops itself at a point between two writes. See killed-processes.test.ts. */
import pg from 'pg'
import { createCoordinator, createPostgresStorage, type StateStorage } from '../../src/sagas/index.js'
import { defineSaga, planSagas } from './random-definitions.js'

export interface ProcessOptions {
  readonly databaseUrl: string
  readonly seed: number
  readonly count: number
  readonly leaseMs: number
  /** Sagas without a key are started by the first process only. */
  readonly first: boolean
  /** At its nth write: before it, or after its commit. Inside: in the next transaction step, between work and commit. */
  readonly stop?: {
    readonly signal: 'SIGKILL' | 'SIGSTOP'
    readonly at: number
    readonly when: 'before' | 'after' | 'inside'
  }
}

const options = JSON.parse(process.argv[2] ?? '') as ProcessOptions
const { databaseUrl, seed, count, leaseMs, first, stop } = options
const pool = new pg.Pool({ connectionString: databaseUrl, max: 6 })
const side = new pg.Pool({ connectionString: databaseUrl, max: 3 })
const storage = createPostgresStorage({ pool })
let writes = 0
let stopped = false

async function halt(): Promise<void> {
  if (stop === undefined) return
  if (stop.signal === 'SIGKILL') return void process.kill(process.pid, 'SIGKILL')
  await new Promise<void>((resolve) => process.send?.('stopping', () => resolve()))
  stopped = true
  process.kill(process.pid, 'SIGSTOP')
}

const counted =
  <Args extends unknown[], Answer>(write: (...args: Args) => Promise<Answer>) =>
  async (...args: Args): Promise<Answer> => {
    const last = ++writes === stop?.at
    if (last && stop.when === 'before') await halt()
    const answer = await write(...args)
    if (last && stop.when === 'after') await halt()
    if (stopped) process.send?.({ answer })
    return answer
  }

const mortal: StateStorage = {
  ...storage,
  startSaga: counted(storage.startSaga),
  startSagas: counted(storage.startSagas),
  write: counted(storage.write),
  claim: storage.claim,
  transact: counted((work, ms) =>
    storage.transact(async (tx) => {
      const inside = stop?.when === 'inside' && writes >= stop.at && !stopped
      const change = await work(tx)
      if (inside) await halt()
      return change
    }, ms),
  ),
}

const definitions = planSagas(seed, count).map((plan) => defineSaga(plan, side))
const coordinator = createCoordinator({
  storage: mortal,
  definitions,
  leaseMs,
  pollMs: 50,
  onError: (error) => process.send?.({ error: String(error.stack) }),
})
await Promise.all(
  definitions.map((definition, number) =>
    number % 2 === 0 || first
      ? coordinator.start(
          definition as never,
          undefined as never,
          number % 2 === 0 ? { key: definition.name } : {},
        )
      : undefined,
  ),
)
const open = `SELECT FROM sagapost.saga_instances WHERE state IN (0, 1, 2, 4) LIMIT 1`
while ((await side.query(open)).rowCount) await new Promise((resolve) => setTimeout(resolve, 20))
await coordinator.stop()
await Promise.all([pool.end(), side.end()])
process.disconnect?.()
