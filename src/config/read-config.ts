import { parseDuration } from '../duration.js'
import { SagapostError } from '../errors/index.js'
import { type LogLevel, logLevels } from './log-levels.js'
import { hasLoginPerRole } from './login-per-role.js'
import { parseMasterKey } from './parse-master-key.js'
import { readSecret } from './read-secret.js'

export interface Config {
  /** When absent, the embedded PostgreSQL in `dataDir` is used. */
  databaseUrl: string | undefined
  /** A direct connection for LISTEN, needed when DATABASE_URL leads to a pooler in transaction mode. */
  listenUrl: string | undefined
  /** Off behind a pooler in transaction mode that does not support prepared statements. */
  preparedStatements: boolean
  dataDir: string
  host: string
  port: number
  /** True when PORT was set: a process without the API then serves health and metrics there. */
  portGiven: boolean
  apiKey: string | undefined
  /** 32 bytes; encrypts subscription secrets at rest. */
  masterKey: Buffer | undefined
  retryBaseDelayMs: number
  retryMaxDelayMs: number
  /** The longest Retry-After of a receiver that is honoured. */
  retryAfterMaxMs: number
  retryLimit: number
  leaseMs: number
  requestTimeoutMs: number
  concurrency: number
  /** Private ranges that callbacks may use, as text; parsed in src/webhook. */
  allowedCidrs: string
  /** [E3] Refuses an event that is sent over HTTP without a key. */
  requireIdempotencyKey: boolean
  /** Proxies whose X-Forwarded-For is trusted, as text; parsed in src/http. */
  trustedProxies: string
  deduplicationWindowMs: number
  /** A stop that takes longer abandons the remaining work. */
  stopDeadlineMs: number
  /** How long the API keeps serving after it reports that it is not ready. Default: 5 s for `serve`, else 0. */
  drainDelayMs: number | undefined
  /** Default: `info` for `serve`, `warn` for `dev`. */
  logLevel: LogLevel | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

/** The lease must outlast the request and the report of its result. */
const LEASE_MARGIN_MS = 5_000
const DAY_MS = 86_400_000
const PORT_MAX = 65_535
const CONCURRENCY_MAX = 10_000
const RETRY_LIMIT_MAX = 100
/** The key grants every right and can be guessed at over the network. */
const API_KEY_CHARACTERS_MIN = 32

/**
 * Reads the environment (docs/reference/configuration.md). An invalid value stops the start with one line; an empty
 * value counts as absent.
 */
export function readConfig(env: Environment): Config {
  const requestTimeoutMs = readDuration(env, 'SAGAPOST_REQUEST_TIMEOUT', '10s', 1, 10 * 60_000)
  const retryMaxDelayMs = readDuration(env, 'SAGAPOST_RETRY_MAX_DELAY', '1h', 1, 30 * DAY_MS)
  const databaseUrl = readSecret(env, 'DATABASE_URL')
  const masterKey = readSecret(env, 'SAGAPOST_MASTER_KEY')
  const config: Config = {
    databaseUrl,
    listenUrl: readSecret(env, 'SAGAPOST_LISTEN_URL'),
    preparedStatements: readSwitch(env, 'SAGAPOST_PREPARED_STATEMENTS', !hasLoginPerRole(databaseUrl ?? '')),
    dataDir: env['SAGAPOST_DATA_DIR'] || './.sagapost',
    host: env['HOST'] || '127.0.0.1',
    port: readInteger(env, 'PORT', 8080, 0, PORT_MAX),
    portGiven: Boolean(env['PORT']),
    apiKey: readApiKey(env),
    masterKey: masterKey === undefined ? undefined : parseMasterKey(masterKey),
    retryBaseDelayMs: readDuration(env, 'SAGAPOST_RETRY_BASE_DELAY', '30s', 1, DAY_MS),
    retryMaxDelayMs,
    retryAfterMaxMs: env['SAGAPOST_RETRY_AFTER_MAX']
      ? readDuration(env, 'SAGAPOST_RETRY_AFTER_MAX', '', 0, DAY_MS)
      : Math.min(retryMaxDelayMs, DAY_MS),
    retryLimit: readInteger(env, 'SAGAPOST_RETRY_LIMIT', 5, 1, RETRY_LIMIT_MAX),
    leaseMs: readDuration(env, 'SAGAPOST_LEASE_DURATION', '60s', 1, DAY_MS),
    requestTimeoutMs,
    concurrency: readInteger(env, 'SAGAPOST_CONCURRENCY', 50, 1, CONCURRENCY_MAX),
    allowedCidrs: env['SAGAPOST_ALLOWED_CIDRS'] ?? '',
    requireIdempotencyKey: readSwitch(env, 'SAGAPOST_REQUIRE_IDEMPOTENCY_KEY', false),
    trustedProxies: env['SAGAPOST_TRUSTED_PROXIES'] ?? '',
    deduplicationWindowMs: readDuration(env, 'SAGAPOST_DEDUPLICATION_WINDOW', '30d', 60_000, 3650 * DAY_MS),
    stopDeadlineMs: readDuration(env, 'SAGAPOST_STOP_DEADLINE', '25s', 1_000, DAY_MS),
    drainDelayMs: env['SAGAPOST_DRAIN_DELAY']
      ? readDuration(env, 'SAGAPOST_DRAIN_DELAY', '', 0, DAY_MS)
      : undefined,
    logLevel: readLogLevel(env),
  }
  if ((config.drainDelayMs ?? 0) >= config.stopDeadlineMs) {
    throw invalid('SAGAPOST_DRAIN_DELAY must be shorter than SAGAPOST_STOP_DEADLINE, which it is part of')
  }
  if (config.leaseMs < requestTimeoutMs + LEASE_MARGIN_MS) {
    throw invalid(
      `SAGAPOST_LEASE_DURATION must be at least ${LEASE_MARGIN_MS / 1000} s longer than SAGAPOST_REQUEST_TIMEOUT, ` +
        'so that a worker can report before its lease ends',
    )
  }
  return config
}

/** Errors never repeat the value. */
function readApiKey(env: Environment): string | undefined {
  const key = readSecret(env, 'SAGAPOST_API_KEY')
  if (key !== undefined && key.length < API_KEY_CHARACTERS_MIN) {
    throw invalid(
      `SAGAPOST_API_KEY must have at least ${API_KEY_CHARACTERS_MIN} characters (openssl rand -hex 32), not ${key.length}`,
    )
  }
  return key
}

function readInteger(env: Environment, name: string, otherwise: number, min: number, max: number): number {
  const text = env[name] || String(otherwise)
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw invalid(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
  }
  return value
}

function readSwitch(env: Environment, name: string, otherwise: boolean): boolean {
  const text = env[name]
  if (!text) return otherwise
  if (!/^(on|off|true|false)$/.test(text)) throw invalid(`${name} must be on or off, not "${text}"`)
  return text === 'on' || text === 'true'
}

function readLogLevel(env: Environment): LogLevel | undefined {
  const text = env['SAGAPOST_LOG_LEVEL'] || undefined
  const level = logLevels.find((name) => name === text)
  if (text !== undefined && level === undefined) {
    throw invalid(`SAGAPOST_LOG_LEVEL must be one of ${logLevels.join(', ')}, not "${text}"`)
  }
  return level
}

function readDuration(
  env: Environment,
  name: string,
  otherwise: string,
  minMs: number,
  maxMs: number,
): number {
  const text = env[name] || otherwise
  const value = parseDuration(text)
  if (value === undefined || value < minMs || value > maxMs) {
    throw invalid(`${name} must be a duration like 500ms, 30s, 5m or 1h within its limits, not "${text}"`)
  }
  return value
}

function invalid(message: string): SagapostError {
  return new SagapostError('config_invalid', message)
}
