/** A process that runs the sagas of some plans, and stops itself at a point between two writes. See killed-processes.slow.test.ts. */
import pg from 'pg'
import { createCoordinator, createPostgresStorage, type StateStorage } from '../../src/sagas/index.js'
import { APPLICATION_NAME, defineSaga, type SagaPlan } from './random-definitions.js'

export interface ProcessOptions {
  readonly databaseUrl: string
  readonly plans: readonly SagaPlan[]
  readonly leaseMs: number
  /** Sagas without a key are started by the first process only. */
  readonly first: boolean
  /** Before or after its nth write; inside: before the nth statement of its transaction steps, BEGIN and COMMIT included. */
  readonly stop?: {
    readonly signal: 'SIGKILL' | 'SIGSTOP'
    readonly at: number
    readonly when: 'before' | 'after' | 'inside'
  }
}

const options = JSON.parse(process.argv[2] ?? '') as ProcessOptions
const { databaseUrl, plans, leaseMs, first, stop } = options
/** No due work takes this long: a saga that is still open is lost. */
const LIFE_MS_MAX = 120_000
const openPool = (max: number) =>
  new pg.Pool({ connectionString: databaseUrl, application_name: APPLICATION_NAME, max })
const pool = openPool(6)
const side = openPool(3)
const transactionPool = openPool(4)
const storage = createPostgresStorage({ pool, transactionPool })
let writes = 0
let statements = 0
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
  transact: counted(storage.transact),
}

const connect = transactionPool.connect.bind(transactionPool)
transactionPool.connect = (async () => {
  const client = await connect()
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
  const mortalQuery = async (...args: unknown[]) => {
    if (++statements === stop?.at && stop.when === 'inside') await halt()
    return query(...args)
  }
  return new Proxy(client, {
    get: (target, key) => {
      if (key === 'query') return mortalQuery
      const value = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}) as typeof transactionPool.connect

const definitions = plans.map((plan) => defineSaga(plan, side))
const coordinator = createCoordinator({
  storage: mortal,
  definitions,
  leaseMs,
  pollMs: 50,
  onError(error) {
    // On a busy machine a renewal may be late; the next one is in time.
    if (!error.message.startsWith('leases were not renewed')) process.send?.({ error: String(error.stack) })
  },
})
await Promise.all(
  plans.map(({ name, keyed }, number) =>
    keyed || first
      ? coordinator.start(definitions[number] as never, undefined as never, keyed ? { key: name } : {})
      : undefined,
  ),
)
const open = `
  SELECT definition_id, state FROM sagapost.saga_instances WHERE definition_id = ANY ($1) AND state IN (0, 1, 2, 4)`
const names = plans.map(({ name }) => name)
for (const endsAt = performance.now() + LIFE_MS_MAX; ; ) {
  const { rows } = await side.query(open, [names])
  if (rows.length === 0) break
  if (performance.now() > endsAt) {
    process.send?.({ stillOpen: rows })
    break
  }
  await new Promise((resolve) => setTimeout(resolve, 20))
}
await coordinator.stop({ timeoutMs: 5_000 })
await Promise.all([pool, transactionPool, side].map((each) => each.end()))
process.disconnect?.()
