import type { Logger } from 'pino'
import { defineBuiltInSagas } from '../built-in-sagas/index.js'
import {
  abandonPool,
  createApplicationPool,
  createDatabaseWatch,
  createRolePool,
  type DatabaseWatch,
} from '../database/index.js'
import { startLoop, type Wakeups } from '../loop/index.js'
import { logFailure, logFields, type Recorders } from '../observability/index.js'
import {
  announceEvents,
  type Coordinator,
  createCoordinator,
  createPostgresStorage,
  type DataBox,
  indexDefinitions,
  observeSagas,
  observeStorage,
  RENEWALS_PER_LEASE,
  SAGA_LEASE_MS,
  type SagaDefinition,
  type SagaRecorders,
} from '../sagas/index.js'

/** Writes of many sagas share a commit: a few connections carry them all. */
const CONNECTIONS_MAX = 4
/** Reserved for lease renewals. */
const LEASE_CONNECTIONS_MAX = 1
/** For Sagapost's own steps, which take longer than a write. */
const OWN_CONNECTIONS_MAX = 2
/** Each running transaction step holds one. */
const TRANSACTIONS_MAX = 16
/** How often the leftovers of Sagapost's own cancelled sagas are removed. */
const CLEAN_UP_MS = 60_000

export interface SagasOptions {
  databaseUrl: string
  /** For transaction steps: a login that may write the application's tables. Default: `databaseUrl`. */
  transactionUrl?: string | undefined
  /** The application's definitions; Sagapost's own run beside them. */
  definitions: readonly SagaDefinition[]
  dataBox?: DataBox | undefined
  /** Default: the coordinator's. */
  leaseMs?: number | undefined
  concurrency?: number | undefined
  preparedStatements: boolean
  log: Logger
  metrics: SagaRecorders & Pick<Recorders, 'loopFailed' | 'requeued'>
  wakeups: Wakeups
  watch?: DatabaseWatch | undefined
  /** How long running steps may take during a stop. Default: the coordinator's. */
  stopMs?: number | undefined
}

export interface Sagas {
  coordinator: Coordinator
  stop(): Promise<void>
  /** Abandons what `stop` waits for. */
  abandon(): Promise<void>
}

/**
 * Starts the coordinator of general sagas under the role saga_app_role [G12]; only transaction steps run as the
 * application.
 */
export function startSagas({
  databaseUrl,
  definitions,
  log,
  metrics,
  wakeups,
  ...options
}: SagasOptions): Sagas {
  const { watch, stopMs } = options
  const pool = createRolePool({
    databaseUrl,
    role: 'saga_app_role',
    connectionsMax: CONNECTIONS_MAX,
    preparedStatements: options.preparedStatements,
    watch,
  })
  const leasePool = createRolePool({
    databaseUrl,
    role: 'saga_app_role',
    connectionsMax: LEASE_CONNECTIONS_MAX,
    // A renewal that is given up must not leave a statement behind that blocks the next one.
    queryTimeoutMs: Math.floor((options.leaseMs ?? SAGA_LEASE_MS) / RENEWALS_PER_LEASE),
    watch,
  })
  const transacting = indexDefinitions(definitions).all.some(({ steps }) =>
    steps.some(({ kind }) => kind === 'transaction'),
  )
  const { transactionUrl } = options
  const ownWatch =
    transacting && transactionUrl ? createDatabaseWatch({ databaseUrl: transactionUrl, log }) : undefined
  const transactionPool = transacting
    ? createApplicationPool({
        databaseUrl: transactionUrl ?? databaseUrl,
        connectionsMax: TRANSACTIONS_MAX,
        watch: ownWatch ?? watch,
      })
    : undefined
  const storage = createPostgresStorage({
    pool,
    leasePool,
    ...(transactionPool && { transactionPool }),
    ...(options.dataBox && { dataBox: options.dataBox }),
  })
  const ownPool = createRolePool({
    databaseUrl,
    role: 'saga_app_role',
    connectionsMax: OWN_CONNECTIONS_MAX,
    watch,
  })
  const pools = [pool, leasePool, ownPool, ...(transactionPool ? [transactionPool] : [])]
  const own = defineBuiltInSagas({ pool: ownPool, metrics, wakeups })
  const announced = announceEvents(storage, () => wakeups.wake('routing'))
  const coordinator = createCoordinator({
    storage: observeStorage(announced, observeSagas(metrics, log)),
    definitions: [...own.definitions, ...definitions],
    ...(options.leaseMs !== undefined && { leaseMs: options.leaseMs }),
    ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
    onError(error, sagaId) {
      metrics.loopFailed('sagas')
      logFailure(log, error, 'running sagas failed; will try again', sagaId ? logFields({ sagaId }) : {})
    },
  })
  const cleanUps = startLoop({
    async round() {
      await own.cleanUp()
      return false
    },
    idleMs: CLEAN_UP_MS,
    onError(error) {
      metrics.loopFailed('sagas')
      logFailure(log, error, 'clearing away what sagas have left behind failed; will try again')
    },
  })
  const unsubscribe = wakeups.onWake('sagas', coordinator.wake)
  return {
    coordinator,
    async stop() {
      unsubscribe()
      own.stop()
      await Promise.all([
        coordinator.stop(stopMs === undefined ? {} : { timeoutMs: stopMs }),
        cleanUps.stop(),
      ])
      await Promise.all(pools.map((each) => each.end()))
      ownWatch?.stop()
    },
    async abandon() {
      await Promise.all(pools.map(abandonPool))
      ownWatch?.stop()
    },
  }
}
