import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../config/index.js'
import { abandonPool, createDatabaseWatch, createRolePool } from '../database/index.js'
import type { HttpServer } from '../http/index.js'
import { type Wakeups, within } from '../loop/index.js'
import { createBacklogCollector, createMetrics, type Metrics } from '../observability/index.js'
import type { Coordinator } from '../sagas/index.js'
import { checkMasterKey, createSecretBox } from '../subscriptions/index.js'
import { masterKeyOf } from './master-key-of.js'
import { type PartName, type Parts, type PartsOptions, partNames, startParts } from './start-parts.js'

/** The names that `serve --only` accepts. */
export const systemParts = ['api', ...partNames] as const
export type SystemPart = 'api' | PartName

export interface SystemOptions
  extends Pick<PartsOptions, 'extraCertificateAuthorities' | 'breakerPolicy' | 'sagas'> {
  databaseUrl: string
  config: Config
  only: readonly SystemPart[]
  log: Logger
  /** The caller's own registry, if it has one. */
  metrics?: Metrics
}

export interface System {
  /** The URL of the API, or of health and metrics alone. */
  url: string | undefined
  wakeups: Wakeups
  metrics: Metrics
  /** Absent when no sagas run here. */
  coordinator: Coordinator | undefined
  /**
   * Reports that it is not ready, keeps serving for the drain delay, and then stops the API and the parts. Always
   * within the stop deadline: work that has not ended by then is abandoned and named.
   */
  stop(): Promise<{ givenUp: string[] }>
}

/** Time for abandoning work: the statements in progress are cancelled. */
const GIVING_UP_MS = 1_500
/** The share of a short deadline reserved for it. */
const GIVING_UP_SHARE = 0.2
/** Requests are cut off slightly before everything else. */
const REQUESTS_SHARE = 0.8

/** Starts the parts and the API of one process, with one metrics registry and one database watch. */
export async function startSystem({ only, ...options }: SystemOptions): Promise<System> {
  const { databaseUrl, config, log } = options
  const watch = createDatabaseWatch({ databaseUrl, log })
  const hasApi = only.includes('api')
  let reads: pg.Pool | undefined
  let parts: Parts | undefined
  let server: HttpServer | undefined
  const openMetrics = (): Metrics => {
    reads = createRolePool({ databaseUrl, role: 'saga_readonly_role', connectionsMax: 1, watch })
    return createMetrics({ backlog: createBacklogCollector(reads) })
  }

  const end = async (requestsMsMax: number) => {
    const stopServer = () => server?.stop(requestsMsMax)
    const ends = await Promise.allSettled([parts?.stop(), hasApi ? stopServer() : undefined])
    // Health and metrics without the API are served until the parts have ended.
    if (!hasApi) await stopServer()
    await reads?.end()
    for (const each of ends) if (each.status === 'rejected') throw each.reason
  }
  const giveUp = async (afterMs: number, keptMs: number) => {
    const givenUp = parts?.left() ?? []
    if (server?.isStopped() === false) givenUp.push(hasApi ? 'api' : 'health and metrics')
    log.error(
      { given_up: givenUp, after_s: afterMs / 1_000 },
      'stop deadline exceeded; the remaining work is abandoned, and is repeated after its leases expire',
    )
    const abandoned = Promise.all([parts?.abandon(), server?.abandon(), reads && abandonPool(reads)])
    await within(keptMs / 2, abandoned, () => {})
    return { givenUp }
  }
  const stop = async () => {
    const drainMs = hasApi && server ? (config.drainDelayMs ?? 0) : 0
    server?.drain()
    if (drainMs > 0) await sleep(drainMs)
    const keptMs = Math.min(GIVING_UP_MS, config.stopDeadlineMs * GIVING_UP_SHARE)
    const endMs = Math.max(0, config.stopDeadlineMs - drainMs - keptMs)
    const ended = end(endMs * REQUESTS_SHARE).then(() => ({ givenUp: [] }))
    return await within(endMs, ended, () => giveUp(drainMs + endMs, keptMs)).finally(watch.stop)
  }

  try {
    const metrics = options.metrics ?? openMetrics()
    parts = await startParts({
      ...options,
      metrics,
      watch,
      only: partNames.filter((name) => only.includes(name)),
      beside: hasApi ? ['api'] : [],
    })
    const { wakeups, coordinator } = parts
    if (!hasApi && !config.portGiven) return { url: undefined, wakeups, metrics, coordinator, stop }
    // Loaded only here: a process without a server does not load fastify and the reference page.
    if (hasApi) await requireMasterKey(options)
    const { startApi, startStateServer } = await import('../http/index.js')
    server = hasApi
      ? await startApi({
          ...options,
          config: { ...config, masterKey: masterKeyOf(config) },
          wakeups,
          metrics,
          watch,
        })
      : await startStateServer({ databaseUrl, config, log, metrics, watch })
    log.info({ url: server.url }, 'listening')
    return { url: server.url, wakeups, metrics, coordinator, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The API seals new secrets: sealed with another key than the workers', they could not be opened. */
async function requireMasterKey({
  databaseUrl,
  config,
}: Pick<SystemOptions, 'databaseUrl' | 'config'>): Promise<void> {
  const pool = createRolePool({ databaseUrl, role: 'subscription_admin', connectionsMax: 1 })
  await checkMasterKey(pool, createSecretBox(masterKeyOf(config))).finally(() => pool.end())
}
