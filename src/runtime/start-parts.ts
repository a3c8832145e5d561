import type { Logger } from 'pino'
import type { Config } from '../config/index.js'
import { createDatabaseWatch, type DatabaseWatch } from '../database/index.js'
import type { BreakerPolicy } from '../delivery/index.js'
import { type Wakeups, within } from '../loop/index.js'
import type { Recorders } from '../observability/index.js'
import { type Coordinator, type DataBox, indexDefinitions, type SagaDefinition } from '../sagas/index.js'
import { createPartContext } from './part-context.js'
import { startOrchestratorPart } from './start-orchestrator-part.js'
import { startRouterPart } from './start-router-part.js'
import { type Sagas, startSagas } from './start-sagas.js'
import { startUpkeep } from './start-upkeep.js'
import { startWorkerPart } from './start-worker-part.js'

/** The parts that run loops; the API is served beside them. */
export const partNames = ['router', 'orchestrator', 'worker', 'cleaner', 'sagas'] as const
export type PartName = (typeof partNames)[number]

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

/** Starts the parts, each on connections under its own role [O2]. If one fails, all that were started are stopped. */
export async function startParts(options: PartsOptions): Promise<Parts> {
  const { databaseUrl, config, only, log, watch = createDatabaseWatch({ databaseUrl, log }) } = options
  const { context, maintainer, abandonPools } = createPartContext({ ...options, watch })
  const { stops, wakeups } = context
  let sagas: Sagas | undefined
  const abandon = async () => {
    await Promise.all([abandonPools(), sagas?.abandon()])
  }
  try {
    startUpkeep(context, {
      maintainer,
      parts: [...(options.beside ?? []), ...only],
      sagaDefinitions: only.includes('sagas') ? namesOf(options.sagas?.definitions ?? []) : [],
    })
    if (only.includes('router')) startRouterPart(context)
    if (only.includes('orchestrator')) await startOrchestratorPart(context)
    if (only.includes('worker') || only.includes('cleaner')) {
      await startWorkerPart(context, {
        worker: only.includes('worker'),
        cleaner: only.includes('cleaner'),
        extraCertificateAuthorities: options.extraCertificateAuthorities,
        breakerPolicy: options.breakerPolicy,
      })
    }
    if (only.includes('sagas')) {
      const started = startSagas({
        databaseUrl,
        definitions: [],
        ...options.sagas,
        preparedStatements: config.preparedStatements,
        log,
        metrics: options.metrics,
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
