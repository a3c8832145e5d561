import type pg from 'pg'
import type { Logger } from 'pino'
import type { Config } from '../../config/index.js'
import {
  createDatabaseWatch,
  createReadiness,
  createRolePool,
  type DatabaseRole,
  type DatabaseWatch,
} from '../../database/index.js'
import type { Wakeups } from '../../loop/index.js'
import { createSecretBox } from '../../subscriptions/index.js'
import { createWebhookSender, parseAllowedCidrs } from '../../webhook/index.js'
import type { ApiOptions } from '../api.js'
import { buildServer } from './build-server.js'
import { type HttpServer, startHttpServer } from './start-http-server.js'
import { withPools } from './with-pools.js'

/** Two lanes with two flushes each, waits for locked keys, and a few batches (event-store.ts). */
const INGEST_CONNECTIONS_MAX = 12
const CONNECTIONS_MAX = 4

export interface StartApiOptions {
  databaseUrl: string
  config: Pick<
    Config,
    | 'host'
    | 'port'
    | 'apiKey'
    | 'requireIdempotencyKey'
    | 'allowedCidrs'
    | 'trustedProxies'
    | 'requestTimeoutMs'
    | 'preparedStatements'
  > & {
    masterKey: Buffer
  }
  log: Logger
  /** Wakes the parts of this process, if any; otherwise the parts poll. */
  wakeups?: Pick<Wakeups, 'wake'>
  /** The metrics of the process; absent: the API creates its own. */
  watch?: DatabaseWatch
  metrics?: ApiOptions['metrics']
  requestMsMax?: ApiOptions['requestMsMax']
  /** PEM, in addition to Node's own; for verifications and test requests. */
  extraCertificateAuthorities?: readonly string[]
}

/** Starts the HTTP API with its dependencies, each pool under its own role [O2]. */
export async function startApi({
  databaseUrl,
  config,
  log,
  wakeups,
  watch = createDatabaseWatch({ databaseUrl, log }),
  ...options
}: StartApiOptions): Promise<HttpServer> {
  const pools: pg.Pool[] = []
  const stops: (() => Promise<unknown>)[] = []
  const stop = () => Promise.all(stops.splice(0).map((each) => each()))
  const openPool = (
    role: DatabaseRole,
    { connectionsMax = CONNECTIONS_MAX, preparedStatements = false } = {},
  ) => {
    const pool = createRolePool({ databaseUrl, role, connectionsMax, preparedStatements, watch })
    pools.push(pool)
    stops.push(() => pool.end())
    return pool
  }
  const allowedCidrs = parseAllowedCidrs(config.allowedCidrs)
  const trustedProxies = parseAllowedCidrs(config.trustedProxies, 'SAGAPOST_TRUSTED_PROXIES')
  const { extraCertificateAuthorities, metrics, requestMsMax } = options

  try {
    const readiness = await createReadiness({ databaseUrl, log, watch })
    pools.push(readiness.pool)
    stops.push(() => readiness.pool.end())
    const sender = createWebhookSender({
      requestTimeoutMs: config.requestTimeoutMs,
      allowedCidrs,
      ...(extraCertificateAuthorities ? { extraCertificateAuthorities } : {}),
    })
    stops.push(() => sender.close())
    const box = createSecretBox(config.masterKey)
    const subscriptions = openPool('subscription_admin')
    const api = await buildServer({
      pools: {
        ingest: openPool('event_ingest_writer', {
          connectionsMax: INGEST_CONNECTIONS_MAX,
          preparedStatements: config.preparedStatements,
        }),
        subscriptions,
        reads: openPool('saga_readonly_role'),
        deadLetters: openPool('dead_letter_operator'),
        sagas: openPool('saga_app_role'),
        keys: openPool('api_key_admin'),
      },
      box,
      masterKey: config.masterKey,
      sender,
      allowedCidrs,
      apiKey: config.apiKey,
      trustedProxies,
      requireIdempotencyKey: config.requireIdempotencyKey,
      log,
      checkReadiness: readiness.check,
      onEventsStored: () => wakeups?.wake('routing'),
      onPartitionMissing: () => wakeups?.wake('partitions'),
      onRequeued: () => wakeups?.wake('first-jobs'),
      onSagaChanged: () => wakeups?.wake('sagas'),
      metrics,
      requestMsMax,
    })
    const server = await startHttpServer(api, config, readiness.drain)
    return withPools(server, pools, stop)
  } catch (error) {
    await stop()
    throw error
  }
}
