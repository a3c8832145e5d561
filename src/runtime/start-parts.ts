import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config/index.js'
import {
  abandonPool,
  createDatabaseWatch,
  createRolePool,
  type DatabaseRole,
  type DatabaseWatch,
  keepPartitionsAhead,
  keepWorkWindow,
  type WorkWindowKeeper,
} from '../database/index.js'
import {
  type BreakerPolicy,
  expireEventKeys,
  startCleaner,
  startEnding,
  startOrchestrator,
  startRouter,
  startWorker,
} from '../delivery/index.js'
import { createWakeups, startLoop, type Wakeups, within } from '../loop/index.js'
import {
  createResultCounter,
  expireMinutes,
  keepDeliveryMinutes,
  keepEventMinutes,
  type LoopPart,
  logFailure,
  type Recorders,
  startRegistration,
} from '../observability/index.js'
import { type Coordinator, type DataBox, indexDefinitions, type SagaDefinition } from '../sagas/index.js'
import {
  checkMasterKey,
  createSecretBox,
  deactivateGoneSubscriptions,
  openRoutes,
  readSigningSecrets,
} from '../subscriptions/index.js'
import { createWebhookSender, parseAllowedCidrs, type SigningSecret } from '../webhook/index.js'
import { linkProcesses } from './link-processes.js'
import { masterKeyOf } from './master-key-of.js'
import { type Sagas, startSagas } from './start-sagas.js'
import { createStops } from './stops.js'

/** The parts that run loops; the API is served beside them. */
export const partNames = ['router', 'orchestrator', 'worker', 'cleaner', 'sagas'] as const
export type PartName = (typeof partNames)[number]

/** Poll intervals of all parts but the router, with and without working wake-ups. */
const POLL_MS = 2_000
const POLL_MS_DEAF = 200
/** A lost lease is detected within this share of the lease. */
const CLEANER_SHARE = 0.1
const CLEANER_MS_MIN = 100
const EXPIRE_KEYS_MS = 10 * 60_000
const EXPIRE_MINUTES_MS = 10 * 60_000
/** Changes through the API take effect at once; this covers those by SQL, and crashes in between. */
const OPEN_ROUTES_MS = 30_000
/** A 410 answer wakes this loop; this covers crashes in between. */
const GONE_MS = 60_000
const GONE_SPACING_MS = 1_000
/** Longer than any pause of this loop, so that no 410 is missed after a restart. */
const GONE_WITHIN_MS = 24 * 3_600_000

/** The parts that every delivery passes through. */
const movers: ReadonlySet<DatabaseRole> = new Set(['router_worker', 'saga_orchestrator', 'job_worker'])

export interface PartsOptions {
  databaseUrl: string
  config: Config
  only: readonly PartName[]
  /** Other functions of this process for the list of processes: the API. */
  beside?: readonly string[]
  log: Logger
  metrics: Recorders
  /** The process's watch; absent: the parts create one. */
  watch?: DatabaseWatch
  /** PEM, added to Node's own. */
  extraCertificateAuthorities?: readonly string[]
  /** Overrides for tests. */
  breakerPolicy?: BreakerPolicy
  /** What the part `sagas` runs besides Sagapost's own sagas. */
  sagas?: SagasSettings
}

interface SagasSettings {
  definitions: readonly SagaDefinition[]
  transactionUrl?: string | undefined
  dataBox?: DataBox | undefined
  leaseMs?: number | undefined
  concurrency?: number | undefined
}

export interface Parts {
  wakeups: Wakeups
  /** Absent when no sagas run here. */
  coordinator: Coordinator | undefined
  /** Stops all parts at once: no new work begins, and work in progress is finished. */
  stop(): Promise<void>
  /** The parts that `stop` still waits for. */
  left(): string[]
  /** Abandons that work; its leases expire. */
  abandon(): Promise<void>
}

/**
 * Starts the parts, each on connections under its own role [O2]. When one fails to start, those already started are
 * stopped.
 */
export async function startParts({
  databaseUrl,
  config,
  only,
  log,
  metrics,
  watch = createDatabaseWatch({ databaseUrl, log }),
  ...options
}: PartsOptions): Promise<Parts> {
  const wakeups = createWakeups()
  const processId = `${hostname()}-${process.pid}-${randomBytes(3).toString('hex')}`.slice(-100)
  const stops = createStops()
  const pools: pg.Pool[] = []
  let sagas: Sagas | undefined
  const abandon = async () => {
    await Promise.all([...pools.map(abandonPool), sagas?.abandon()])
  }
  const openPool = (role: DatabaseRole, connectionsMax: number): pg.Pool => {
    const pool = createRolePool({
      databaseUrl,
      role,
      connectionsMax,
      pinnedPlans: movers.has(role),
      preparedStatements: config.preparedStatements,
      watch,
    })
    pools.push(pool)
    stops.add('connections', `connections of ${role}`, () => pool.end())
    return pool
  }
  const onError = (part: LoopPart, what: string) => (error: Error) => {
    metrics.loopFailed(part)
    logFailure(log, error, `${what} failed; will try again`)
  }

  let keptWindow: WorkWindowKeeper | undefined
  /** One window for all parts, on the connections of the part that starts first and stops last. */
  const windowOf = async (pool: pg.Pool): Promise<WorkWindowKeeper> => {
    if (keptWindow) return keptWindow
    const kept = await keepWorkWindow(pool, { onError: onError('work_window', 'reading the work window') })
    stops.add('records', 'work window', () => kept.stop())
    keptWindow = kept
    return kept
  }

  try {
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
    const pollMs = () => (link.isListening() ? POLL_MS : POLL_MS_DEAF)
    const partitions = keepPartitionsAhead({
      pool: maintainer,
      onError: onError('partitions', 'making partitions'),
    })
    const forgetPartitions = wakeups.onWake('partitions', partitions.wake)
    stops.add('work', 'partitions', () => {
      forgetPartitions()
      return partitions.stop()
    })
    const routes = startLoop({
      round: async () => {
        await openRoutes(maintainer)
        return false
      },
      idleMs: OPEN_ROUTES_MS,
      onError: onError('routes', 'noting new routes'),
    })
    stops.add('work', 'routes', () => routes.stop())
    const keys = startLoop({
      round: () => expireEventKeys(maintainer, config.deduplicationWindowMs),
      idleMs: EXPIRE_KEYS_MS,
      onError: onError('event_keys', 'forgetting old keys'),
    })
    stops.add('work', 'event keys', () => keys.stop())
    const minutes = startLoop({
      round: () => expireMinutes(maintainer),
      idleMs: EXPIRE_MINUTES_MS,
      onError: onError('statistics', 'forgetting old counts'),
    })
    stops.add('work', 'statistics', () => minutes.stop())
    const registration = startRegistration({
      pool: maintainer,
      id: processId,
      parts: [...(options.beside ?? []), ...only],
      sagaDefinitions: only.includes('sagas') ? namesOf(options.sagas?.definitions ?? []) : [],
      onError: onError('processes', 'saying that this process runs'),
    })
    stops.add('records', 'registration', () => registration.stop())

    if (only.includes('router')) {
      const pool = openPool('router_worker', 2)
      const counter = keepEventMinutes({ pool, onError: onError('statistics', 'counting events') })
      stops.add('records', 'statistics', () => counter.stop())
      const router = startRouter({ pool, wakeups, log, metrics, counter })
      stops.add('work', 'router', () => router.stop())
    }

    if (only.includes('orchestrator')) {
      const pool = openPool('saga_orchestrator', 4)
      const window = await windowOf(pool)
      const policy = {
        baseDelayMs: config.retryBaseDelayMs,
        maxDelayMs: config.retryMaxDelayMs,
        retryAfterMaxS: Math.ceil(config.retryAfterMaxMs / 1_000),
        limit: config.retryLimit,
      }
      const admin = openPool('subscription_admin', 1)
      const gone = startLoop({
        round: async () => {
          for (const id of await deactivateGoneSubscriptions(admin, GONE_WITHIN_MS)) {
            metrics.subscriptionGone()
            log.warn(
              { subscription_id: id, error_code: 'http_410' },
              'subscription disabled: its receiver is gone',
            )
          }
          return false
        },
        idleMs: GONE_MS,
        spacingMs: GONE_SPACING_MS,
        onError: onError('gone_subscriptions', 'looking for receivers that are gone'),
      })
      stops.add('work', 'gone subscriptions', () => gone.stop())

      const counter = createResultCounter()
      const counts = keepDeliveryMinutes(counter, {
        pool,
        onError: onError('statistics', 'counting results'),
      })
      stops.add('records', 'statistics', () => counts.stop())
      const orchestrator = startOrchestrator({
        pool,
        window: window.current,
        wakeups,
        log,
        metrics,
        counter,
        policy,
        onGone: gone.wake,
        pollMs,
      })
      stops.add('work', 'orchestrator', () => orchestrator.stop())
      const ending = startEnding({
        pool,
        window: window.current,
        wakeups,
        pollMs,
        onEnded: orchestrator.buryWaiting,
        onError: onError('orchestrator', 'ending stopped deliveries'),
      })
      stops.add('work', 'ending', () => ending.stop())
    }

    if (only.includes('worker') || only.includes('cleaner')) {
      const pool = openPool('job_worker', 6)
      const window = await windowOf(pool)
      if (only.includes('cleaner')) {
        const intervalMs = Math.max(CLEANER_MS_MIN, config.leaseMs * CLEANER_SHARE)
        const cleaner = startCleaner({ pool, window: window.current, wakeups, log, metrics, intervalMs })
        stops.add('work', 'cleaner', () => cleaner.stop())
      }
      if (only.includes('worker')) {
        const box = createSecretBox(masterKeyOf(config))
        await checkMasterKey(pool, box)
        const sender = createWebhookSender({
          requestTimeoutMs: config.requestTimeoutMs,
          allowedCidrs: parseAllowedCidrs(config.allowedCidrs),
          ...(options.extraCertificateAuthorities && {
            extraCertificateAuthorities: options.extraCertificateAuthorities,
          }),
        })
        stops.add('records', 'connections to receivers', () => sender.close())
        const worker = startWorker({
          pool,
          sender,
          readSecrets: (ids) => readableSecrets(pool, box, ids, log),
          window: window.current,
          wakeups,
          log,
          metrics,
          workerId: processId,
          concurrency: config.concurrency,
          leaseMs: config.leaseMs,
          requestTimeoutMs: config.requestTimeoutMs,
          pollMs,
          ...(options.breakerPolicy && { breakerPolicy: options.breakerPolicy }),
        })
        stops.add('work', 'worker', () => worker.stop())
      }
    }
    if (only.includes('sagas')) {
      const started = startSagas({
        databaseUrl,
        definitions: [],
        ...options.sagas,
        preparedStatements: config.preparedStatements,
        log,
        metrics,
        wakeups,
        watch,
        stopMs: sagasStopMs(config),
      })
      stops.add('work', 'sagas', () => started.stop())
      sagas = started
    }
    return { wakeups, coordinator: sagas?.coordinator, stop: stops.run, left: stops.left, abandon }
  } catch (error) {
    await within(config.stopDeadlineMs, stops.run(), abandon).catch(() => {})
    throw error
  }
}

/** The time a coordinator needs after its steps to write their state and release its sagas. */
const SAGAS_LET_GO_MS = 5_000

/** Leaves out Sagapost's own: every part `sagas` runs them. */
function namesOf(definitions: readonly SagaDefinition[]): string[] {
  return indexDefinitions(definitions).all.map(({ name, version }) => `${name}@${version}`)
}

function sagasStopMs({ stopDeadlineMs, drainDelayMs = 0 }: Config): number {
  return Math.max(0, stopDeadlineMs - drainDelayMs - SAGAS_LET_GO_MS)
}

async function readableSecrets(
  pool: pg.Pool,
  box: ReturnType<typeof createSecretBox>,
  ids: readonly string[],
  log: Logger,
): Promise<Map<string, readonly SigningSecret[]>> {
  const secrets = new Map<string, readonly SigningSecret[]>()
  for (const [id, found] of await readSigningSecrets(pool, box, ids)) {
    if (found.readable) secrets.set(id, found.secrets)
    else log.error({ err: found.error, subscription_id: id }, 'the secret of a subscription cannot be read')
  }
  return secrets
}
