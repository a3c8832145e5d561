import type { SagaDefinition } from './saga-face.js'

/** Milliseconds as a number, or a text like `500ms`, `30s`, `5m`, `1h`, `30d`. */
export type Duration = number | string

/** What can run in the application's process. */
export type Part = 'api' | 'router' | 'orchestrator' | 'worker' | 'cleaner' | 'sagas'

type WriteLine = (fields: Record<string, unknown>, message: string) => void

/** Where log lines go; pino's loggers, Fastify's `app.log` and their children fit as they are. */
export interface Log {
  error: WriteLine
  warn: WriteLine
  info: WriteLine
  debug: WriteLine
}

/**
 * The environment's settings (docs/reference/configuration.md) under names without the prefix. The environment itself
 * is not read. Absent or empty: the default.
 */
export interface SagapostOptions {
  /** `postgres://user:password@host:5432/database` */
  databaseUrl: string
  /** 32 bytes in base64; encrypts the secrets of subscriptions. Without it nothing can run but sagas. */
  masterKey?: string | undefined
  /**
   * What runs here; absent: router, orchestrator, worker, cleaner and sagas. `[]`: nothing, for a process that publishes,
   * or starts sagas that others run.
   */
  parts?: readonly Part[] | undefined
  /** Bring the schema to the newest version when it starts. */
  migrate?: boolean | undefined
  /** Absent: nothing is logged. */
  log?: Log | undefined

  /** What the part `sagas` runs beside Sagapost's own. Several versions of one are welcome: running sagas stay on theirs. */
  sagas?: readonly SagaDefinition[] | undefined
  /** For transaction steps: a login that may write your tables and has the role saga_app_role. Absent: `databaseUrl`. */
  sagaTransactionUrl?: string | undefined
  /** 32 bytes in base64; encrypts the inputs, outputs and results of sagas. */
  sagaDataKey?: string | undefined

  /** How long a saga is held without a sign of life: 30 s; after a crash another process takes it over by then. */
  sagaLeaseDuration?: Duration | undefined
  /** Sagas that run here at once: 64. */
  sagaConcurrency?: number | undefined

  /** A direct connection for LISTEN, where `databaseUrl` leads to a pooler. */
  listenUrl?: string | undefined
  /** `off` behind a pooler in transaction mode that does not keep prepared statements apart. */
  preparedStatements?: 'on' | 'off' | undefined
  retryBaseDelay?: Duration | undefined
  retryMaxDelay?: Duration | undefined
  /** The longest that a receiver's Retry-After is heeded, at most a day. Absent: `retryMaxDelay`. */
  retryAfterMax?: Duration | undefined
  retryLimit?: number | undefined
  requestTimeout?: Duration | undefined
  leaseDuration?: Duration | undefined
  concurrency?: number | undefined
  /** Private ranges that callbacks may use. */
  allowedCidrs?: string | readonly string[] | undefined
  /** Proxies whose X-Forwarded-For names the API's client. */
  trustedProxies?: string | readonly string[] | undefined
  deduplicationWindow?: Duration | undefined
  /** `stop()` takes no longer; what has not ended by then is given up, and the log says what. 25 s. */
  stopDeadline?: Duration | undefined
  /** How long the part api still serves after `stop()`, while it says that it is not ready. 0. */
  drainDelay?: Duration | undefined
  /** PEM, beside Node's own and those of NODE_EXTRA_CA_CERTS. */
  extraCertificateAuthorities?: readonly string[] | undefined

  /** Of the part `api`: an administrator's key, and where it listens. A port without it serves health and metrics. */
  apiKey?: string | undefined
  /** The part `api` refuses events without an idempotency key. */
  requireIdempotencyKey?: boolean | undefined
  host?: string | undefined
  port?: number | undefined
}
