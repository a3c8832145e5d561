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
    /** Each answer ends its connection. */
    isStopping: boolean
  }
}

/** The server that routes are put on: its requests and answers are typed by their zod schemas. */
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

/** What health, readiness and metrics need. */
export interface StateOptions
  extends Pick<
    ApiOptions,
    'apiKey' | 'log' | 'checkReadiness' | 'metrics' | 'requestMsMax' | 'trustedProxies'
  > {
  pools: Pick<ApiPools, 'keys'>
  /** Absent: keys only. */
  sessions?: Sessions
}

/** What the routes need; everything of it is made by whoever starts the server. */
export interface ApiOptions {
  pools: ApiPools
  /** Opens and seals the secrets of subscriptions. */
  box: SecretBox
  /** What sealed cookies of the dashboard are opened with. */
  masterKey: Buffer
  /** For verifications and test requests. */
  sender: Pick<WebhookSender, 'send'>
  /** Private ranges that callbacks may use. */
  allowedCidrs: readonly string[]
  /** SAGAPOST_API_KEY: an administrator's key beside those of the database. */
  apiKey: string | undefined
  /** [E3] An event without a key is refused. */
  requireIdempotencyKey?: boolean
  /** Ranges of proxies whose X-Forwarded-For names the client; absent: none is believed. */
  trustedProxies?: readonly string[]
  log: Logger
  checkReadiness: () => Promise<readonly Obstacle[]>
  /** Something new is stored, or requeued: wakes the router and the orchestrator of this process. */
  onEventsStored?: () => void
  /** Events could not be stored because the ids have run past the partitions. */
  onPartitionMissing?: () => void
  onRequeued?: () => void
  /** Somebody asked a saga to stop, or to go on. */
  onSagaChanged?: () => void
  /** Another time than the documented one for a request to arrive, for tests. */
  requestMsMax?: number | undefined
  /** What GET /metrics shows, and where the API counts; absent: there is no such path. */
  metrics?: Pick<Metrics, 'render' | 'eventsIngested' | 'requeued' | 'httpRequest'> | undefined
}
