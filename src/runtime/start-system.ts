import type { Logger } from 'pino'
import type { Config } from '../config/index.js'
import { createRolePool } from '../database/index.js'
import type { Wakeups } from '../loop/index.js'
import { createBacklogCollector, createMetrics, type Metrics } from '../observability/index.js'
import type { Coordinator } from '../sagas/index.js'
import { checkMasterKey, createSecretBox } from '../subscriptions/index.js'
import { masterKeyOf } from './master-key-of.js'
import { type PartName, type PartsOptions, partNames, startParts } from './start-parts.js'

/** What `serve --only` can name. */
export const systemParts = ['api', ...partNames] as const
export type SystemPart = 'api' | PartName

export interface SystemOptions
  extends Pick<PartsOptions, 'extraCertificateAuthorities' | 'breakerPolicy' | 'sagas'> {
  databaseUrl: string
  config: Config
  only: readonly SystemPart[]
  log: Logger
  /** The caller's own, which it keeps; absent: made here. */
  metrics?: Metrics
}

export interface System {
  /** Of the API, or of health and metrics alone. */
  url: string | undefined
  wakeups: Wakeups
  metrics: Metrics
  /** Absent: no sagas run here. */
  coordinator: Coordinator | undefined
  /** The API first, so that nothing new comes in; then the parts. */
  stop(): Promise<void>
}

/** The parts and the API of one process, with one registry of metrics. */
export async function startSystem({ only, ...options }: SystemOptions): Promise<System> {
  const { databaseUrl, log } = options
  const stops: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  const openMetrics = (): Metrics => {
    const reads = createRolePool({ databaseUrl, role: 'saga_readonly_role', connectionsMax: 1 })
    stops.push(() => reads.end())
    return createMetrics({ backlog: createBacklogCollector(reads) })
  }
  try {
    const metrics = options.metrics ?? openMetrics()
    const parts = await startParts({
      ...options,
      metrics,
      only: partNames.filter((name) => only.includes(name)),
      beside: only.includes('api') ? ['api'] : [],
    })
    stops.push(() => parts.stop())
    const { wakeups, coordinator } = parts
    const { config } = options
    if (!only.includes('api') && !config.portGiven)
      return { url: undefined, wakeups, metrics, coordinator, stop }
    // Loaded only here: a process without a server does without fastify and the reference page.
    if (only.includes('api')) await requireMasterKey(options)
    const { startApi, startStateServer } = await import('../http/index.js')
    const server = only.includes('api')
      ? await startApi({
          ...options,
          config: { ...config, masterKey: masterKeyOf(config) },
          wakeups,
          metrics,
        })
      : await startStateServer({ databaseUrl, config, log, metrics })
    stops.push(() => server.stop())
    log.info({ url: server.url }, 'listening')
    return { url: server.url, wakeups, metrics, coordinator, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The API seals new secrets: with another key than the workers', nobody could open them. */
async function requireMasterKey({
  databaseUrl,
  config,
}: Pick<SystemOptions, 'databaseUrl' | 'config'>): Promise<void> {
  const pool = createRolePool({ databaseUrl, role: 'subscription_admin', connectionsMax: 1 })
  await checkMasterKey(pool, createSecretBox(masterKeyOf(config))).finally(() => pool.end())
}
