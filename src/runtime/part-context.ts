import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config/index.js'
import {
  abandonPool,
  createRolePool,
  type DatabaseRole,
  type DatabaseWatch,
  keepWorkWindow,
  type WorkWindowKeeper,
} from '../database/index.js'
import { createWakeups, type Wakeups } from '../loop/index.js'
import { type LoopPart, logFailure, type Recorders } from '../observability/index.js'
import { linkProcesses } from './link-processes.js'
import { createStops, type Stops } from './stops.js'

/** Poll interval of the parts other than the router, while wake-ups arrive and while they do not. */
const POLL_MS = 2_000
const POLL_MS_DEAF = 200

/** The parts that every delivery goes through. */
const movers: ReadonlySet<DatabaseRole> = new Set(['router_worker', 'saga_orchestrator', 'job_worker'])

/** What the parts of one process share. */
export interface PartContext {
  config: Config
  log: Logger
  metrics: Recorders
  wakeups: Wakeups
  stops: Stops
  processId: string
  /** Its connections end when the process stops. */
  openPool(role: DatabaseRole, connectionsMax: number): pg.Pool
  /** One for all parts, read on the connections of the first part that asks. */
  windowOf(pool: pg.Pool): Promise<WorkWindowKeeper>
  onError(part: LoopPart, what: string): (error: Error) => void
  /** The longest pause of a loop that wake-ups reach. */
  pollMs(): number
}

interface ContextOptions {
  databaseUrl: string
  config: Config
  log: Logger
  metrics: Recorders
  watch: DatabaseWatch
}

/** The context, the pool of the role schema_maintainer, and what gives up all connections. */
export function createPartContext({ databaseUrl, config, log, metrics, watch }: ContextOptions): {
  context: PartContext
  maintainer: pg.Pool
  abandonPools(): Promise<unknown>
} {
  const wakeups = createWakeups()
  const stops = createStops()
  const pools: pg.Pool[] = []
  const openPool = (role: DatabaseRole, connectionsMax: number): pg.Pool => {
    const { preparedStatements } = config
    const pinnedPlans = movers.has(role)
    const pool = createRolePool({ databaseUrl, role, connectionsMax, pinnedPlans, preparedStatements, watch })
    pools.push(pool)
    stops.add('connections', `connections of ${role}`, () => pool.end())
    return pool
  }
  const onError = (part: LoopPart, what: string) => (error: Error) => {
    metrics.loopFailed(part)
    logFailure(log, error, `${what} failed; will try again`)
  }
  let keptWindow: WorkWindowKeeper | undefined
  const windowOf = async (pool: pg.Pool): Promise<WorkWindowKeeper> => {
    if (keptWindow) return keptWindow
    const kept = await keepWorkWindow(pool, { onError: onError('work_window', 'reading the work window') })
    stops.add('records', 'work window', () => kept.stop())
    keptWindow = kept
    return kept
  }
  const maintainer = openPool('schema_maintainer', 2)
  const link = linkProcesses({
    listenUrl: config.listenUrl ?? databaseUrl,
    pool: maintainer,
    wakeups,
    log,
    onLost: () => metrics.loopFailed('wakeups'),
    isAway: watch.isAway,
  })
  stops.add('records', 'wake-ups', () => link.stop())
  const processId = `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`.slice(-100)
  const pollMs = () => (link.isListening() ? POLL_MS : POLL_MS_DEAF)
  return {
    context: { config, log, metrics, wakeups, stops, processId, openPool, windowOf, onError, pollMs },
    maintainer,
    abandonPools: () => Promise.all(pools.map(abandonPool)),
  }
}
