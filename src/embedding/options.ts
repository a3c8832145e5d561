import type { SagaDefinition } from './saga-face.js'

/** Milliseconds as a number, or a string such as `500ms`, `30s`, `5m`, `1h`, `30d`. */
export type Duration = number | string

/** The parts that can run in the application's process. */
export type Part = 'api' | 'router' | 'orchestrator' | 'worker' | 'cleaner' | 'sagas'

type WriteLine = (fields: Record<string, unknown>, message: string) => void

/** Receives log lines; compatible with pino loggers, Fastify's `app.log` and their children. */
export interface Log {
  error: WriteLine
  warn: WriteLine
  info: WriteLine
  debug: WriteLine
}

/**
 * The settings of docs/reference/configuration.md, named without the prefix. The environment is not read. Absent or
 * empty means the default.
 */
export interface SagapostOptions {
  /** `postgres://user:password@host:5432/database` */
  databaseUrl: string
  /** 32 bytes in base64; encrypts the secrets of subscriptions. Without it, only sagas can run. */
  masterKey?: string | undefined
  /**
   * The parts to run; by default router, orchestrator, worker, cleaner and sagas. `[]` runs none, for a process that only
   * publishes or starts sagas.
   */
  parts?: readonly Part[] | undefined
  /** Migrates the schema to the latest version at the start. */
  migrate?: boolean | undefined
  /** Absent: nothing is logged. */
  log?: Log | undefined

  /** Definitions that the part `sagas` runs. List old versions too: running sagas stay on their version. */
  sagas?: readonly SagaDefinition[] | undefined
  /** For transaction steps: a login that can write your tables and has the role saga_app_role. Default: `databaseUrl`. */
  sagaTransactionUrl?: string | undefined
  /** 32 bytes in base64; encrypts the inputs, outputs and results of sagas. */
  sagaDataKey?: string | undefined

  /** Lease of a saga, default 30 s; after a crash, another process takes the saga over when it expires. */
  sagaLeaseDuration?: Duration | undefined
  /** Maximum number of sagas that run concurrently; default 64. */
  sagaConcurrency?: number | undefined

  /** A direct connection for LISTEN, when `databaseUrl` points to a pooler. */
  listenUrl?: string | undefined
  /** `off` behind a pooler in transaction mode that does not support prepared statements. */
  preparedStatements?: 'on' | 'off' | undefined
  retryBaseDelay?: Duration | undefined
  retryMaxDelay?: Duration | undefined
  /** The maximum Retry-After of a receiver that is respected, at most a day. Default: `retryMaxDelay`. */
  retryAfterMax?: Duration | undefined
  retryLimit?: number | undefined
  requestTimeout?: Duration | undefined
  leaseDuration?: Duration | undefined
  concurrency?: number | undefined
  /** Private address ranges that callbacks may use. */
  allowedCidrs?: string | readonly string[] | undefined
  /** Address ranges of trusted proxies, whose X-Forwarded-For identifies the API's client. */
  trustedProxies?: string | readonly string[] | undefined
  deduplicationWindow?: Duration | undefined
  /** Time limit of `stop()`, default 25 s; unfinished work is then abandoned and logged. */
  stopDeadline?: Duration | undefined
  /** How long the part api still serves after `stop()` while it reports not ready; default 0. */
  drainDelay?: Duration | undefined
  /** PEM, in addition to Node's own and those of NODE_EXTRA_CA_CERTS. */
  extraCertificateAuthorities?: readonly string[] | undefined

  /** For the part `api`: an administrator's key and the address. Without that part, the port serves health and metrics. */
  apiKey?: string | undefined
  /** The part `api` refuses events without an idempotency key. */
  requireIdempotencyKey?: boolean | undefined
  host?: string | undefined
  port?: number | undefined
}
