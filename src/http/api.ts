import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Obstacle } from '../database/index.js'
import type { Metrics } from '../observability/index.js'
import type { SecretBox } from '../subscriptions/index.js'
import type { WebhookSender } from '../webhook/index.js'
import type { Sessions } from './sessions.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Each response closes its connection. */
    isStopping: boolean
  }
}

/** The server that routes register on; zod schemas type its requests and responses. */
export type Api = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>

/** One pool for each role that the API works under [O2]. */
interface ApiPools {
  /** event_ingest_writer */
  ingest: pg.Pool
  /** subscription_admin */
  subscriptions: pg.Pool
  /** saga_readonly_role */
  reads: pg.Pool
  /** dead_letter_operator */
  deadLetters: pg.Pool
  /** saga_app_role */
  sagas: pg.Pool
  /** api_key_admin */
  keys: pg.Pool
}

/** Dependencies of health, readiness and metrics. */
export interface StateOptions
  extends Pick<
    ApiOptions,
    'apiKey' | 'log' | 'checkReadiness' | 'metrics' | 'requestMsMax' | 'trustedProxies'
  > {
  pools: Pick<ApiPools, 'keys'>
  /** Absent: keys only. */
  sessions?: Sessions
}

/** Dependencies of the routes, created by the start of the server. */
export interface ApiOptions {
  pools: ApiPools
  /** Encrypts and decrypts the secrets of subscriptions. */
  box: SecretBox
  /** Decrypts the dashboard's session cookies. */
  masterKey: Buffer
  /** For verifications and test requests. */
  sender: Pick<WebhookSender, 'send'>
  /** Private ranges that callbacks may use. */
  allowedCidrs: readonly string[]
  /** SAGAPOST_API_KEY: an administrator's key in addition to those in the database. */
  apiKey: string | undefined
  /** [E3] An event without a key is refused. */
  requireIdempotencyKey?: boolean
  /** Trusted proxies, whose X-Forwarded-For identifies the client; absent: none is trusted. */
  trustedProxies?: readonly string[]
  log: Logger
  checkReadiness: () => Promise<readonly Obstacle[]>
  /** Wakes this process's router and orchestrator after a publish or requeue. */
  onEventsStored?: () => void
  /** Called when events cannot be stored because no partition covers their ids. */
  onPartitionMissing?: () => void
  onRequeued?: () => void
  /** Called after a saga was cancelled, resolved or signalled. */
  onSagaChanged?: () => void
  /** Overrides the time limit for receiving a request, for tests. */
  requestMsMax?: number | undefined
  /** The metrics of GET /metrics, which the API also updates; absent: no such path. */
  metrics?: Pick<Metrics, 'render' | 'eventsIngested' | 'requeued' | 'httpRequest'> | undefined
}
