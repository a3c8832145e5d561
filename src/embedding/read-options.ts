import { type Config, readConfig } from '../config/index.js'
import { requireSingleLogin } from '../database/index.js'
import { parseDuration } from '../duration.js'
import { SagapostError } from '../errors/index.js'
import { partNames, systemParts } from '../runtime/index.js'
import {
  createDataBox,
  type DataBox,
  indexDefinitions,
  refuseReservedName,
  type SagaDefinition,
} from '../sagas/index.js'
import { parseAllowedCidrs } from '../webhook/index.js'
import type { Part, SagapostOptions } from './options.js'

/** The environment variable of an option. */
const variables = {
  databaseUrl: 'DATABASE_URL',
  listenUrl: 'SAGAPOST_LISTEN_URL',
  preparedStatements: 'SAGAPOST_PREPARED_STATEMENTS',
  host: 'HOST',
  port: 'PORT',
  apiKey: 'SAGAPOST_API_KEY',
  masterKey: 'SAGAPOST_MASTER_KEY',
  retryBaseDelay: 'SAGAPOST_RETRY_BASE_DELAY',
  retryMaxDelay: 'SAGAPOST_RETRY_MAX_DELAY',
  retryAfterMax: 'SAGAPOST_RETRY_AFTER_MAX',
  retryLimit: 'SAGAPOST_RETRY_LIMIT',
  requireIdempotencyKey: 'SAGAPOST_REQUIRE_IDEMPOTENCY_KEY',
  requestTimeout: 'SAGAPOST_REQUEST_TIMEOUT',
  leaseDuration: 'SAGAPOST_LEASE_DURATION',
  concurrency: 'SAGAPOST_CONCURRENCY',
  allowedCidrs: 'SAGAPOST_ALLOWED_CIDRS',
  trustedProxies: 'SAGAPOST_TRUSTED_PROXIES',
  deduplicationWindow: 'SAGAPOST_DEDUPLICATION_WINDOW',
  stopDeadline: 'SAGAPOST_STOP_DEADLINE',
  drainDelay: 'SAGAPOST_DRAIN_DELAY',
} as const satisfies Partial<Record<keyof SagapostOptions, string>>
type Setting = keyof typeof variables

const durations: ReadonlySet<Setting> = new Set([
  ...(['retryBaseDelay', 'retryMaxDelay', 'retryAfterMax', 'requestTimeout', 'leaseDuration'] as const),
  ...(['deduplicationWindow', 'stopDeadline', 'drainDelay'] as const),
])
const others = [
  ...(['parts', 'migrate', 'log', 'extraCertificateAuthorities'] as const),
  ...(['sagas', 'sagaTransactionUrl', 'sagaDataKey', 'sagaLeaseDuration', 'sagaConcurrency'] as const),
] satisfies (keyof SagapostOptions)[]

/** The constructor's options as settings, validated like the environment. */
export interface Settings {
  databaseUrl: string
  config: Config
  parts: readonly Part[]
  sagas: {
    definitions: readonly SagaDefinition[]
    transactionUrl: string | undefined
    dataBox: DataBox | undefined
    leaseMs: number | undefined
    concurrency: number | undefined
  }
}

export function readOptions(options: SagapostOptions): Settings {
  try {
    return checkOptions(options)
  } catch (error) {
    throw inOptionNames(error)
  }
}

function checkOptions(options: SagapostOptions): Settings {
  if (typeof options !== 'object' || options === null)
    throw invalid('new Sagapost() requires an options object')
  for (const name of Object.keys(options)) {
    if (!(name in variables) && !others.includes(name as never)) {
      throw invalid(`unknown option "${name}"`)
    }
  }
  const config = readConfig(toEnvironment(options))
  parseAllowedCidrs(config.allowedCidrs)
  parseAllowedCidrs(config.trustedProxies, 'SAGAPOST_TRUSTED_PROXIES')
  const { databaseUrl, masterKey, apiKey } = config
  if (databaseUrl === undefined) throw invalid('DATABASE_URL is missing')
  const definitions = readDefinitions(options.sagas)
  const parts = readParts(options.parts)
  if (parts.some((part) => part !== 'sagas') && masterKey === undefined) {
    throw invalid(
      "SAGAPOST_MASTER_KEY is missing; only an instance with parts: [] or ['sagas'] works without it",
    )
  }
  if (parts.includes('api') && apiKey === undefined) {
    throw invalid('SAGAPOST_API_KEY is missing; the part api needs it')
  }
  const { sagaTransactionUrl: transactionUrl, sagaDataKey } = options
  if (transactionUrl) checkTransactionUrl(transactionUrl)
  else if (parts.includes('sagas') && definitions.some(hasTransactions)) requireSingleLogin(databaseUrl)
  const dataBox = sagaDataKey ? createDataBox(readKey(sagaDataKey)) : undefined
  return {
    databaseUrl,
    config,
    parts,
    sagas: {
      definitions,
      transactionUrl: transactionUrl || undefined,
      dataBox,
      leaseMs: readSagaLease(options.sagaLeaseDuration),
      concurrency: readSagaConcurrency(options.sagaConcurrency),
    },
  }
}

function toEnvironment(options: SagapostOptions): Record<string, string> {
  const given = Object.entries(variables).flatMap(([name, variable]) => {
    const value = options[name as Setting]
    if (value === undefined || value === null) return []
    return [[variable, durations.has(name as Setting) ? durationText(value) : String(value)]]
  })
  return Object.fromEntries(given)
}

function durationText(value: unknown): string {
  if (typeof value !== 'number') return String(value)
  return value % 1000 === 0 ? `${value / 1000}s` : `${value}ms`
}

function readDefinitions(definitions: SagapostOptions['sagas'] = []): readonly SagaDefinition[] {
  if (!Array.isArray(definitions) || !definitions.every((each) => Array.isArray(each?.steps))) {
    throw invalid('sagas must be a list of definitions created by saga()')
  }
  for (const definition of definitions) refuseReservedName(definition)
  indexDefinitions(definitions)
  return definitions
}

function readSagaLease(given: SagapostOptions['sagaLeaseDuration']): number | undefined {
  if (given === undefined) return undefined
  const ms = parseDuration(durationText(given))
  if (ms === undefined || ms < SAGA_LEASE_MS_MIN || ms > SAGA_LEASE_MS_MAX) {
    throw invalid('sagaLeaseDuration must be a duration from 1s to 1d')
  }
  return ms
}

function readSagaConcurrency(given: SagapostOptions['sagaConcurrency']): number | undefined {
  if (given === undefined) return undefined
  if (!Number.isInteger(given) || given < 1 || given > SAGA_CONCURRENCY_MAX) {
    throw invalid(`sagaConcurrency must be a whole number from 1 to ${SAGA_CONCURRENCY_MAX}`)
  }
  return given
}

const hasTransactions = ({ steps }: SagaDefinition) => steps.some(({ kind }) => kind === 'transaction')

function checkTransactionUrl(url: string): void {
  try {
    requireSingleLogin(url)
  } catch (error) {
    if (!(error instanceof SagapostError)) throw error
    throw new SagapostError(error.code, error.message.replace('DATABASE_URL', 'sagaTransactionUrl'))
  }
}

const KEY_BYTES = 32
const SAGA_LEASE_MS_MIN = 1_000
const SAGA_LEASE_MS_MAX = 86_400_000
const SAGA_CONCURRENCY_MAX = 10_000

function readKey(text: string): Buffer {
  const key = Buffer.from(String(text), 'base64')
  if (key.length !== KEY_BYTES || key.toString('base64') !== text) {
    throw invalid(`sagaDataKey must be ${KEY_BYTES} random bytes in base64`)
  }
  return key
}

function readParts(parts: readonly Part[] | undefined): readonly Part[] {
  if (parts === undefined) return partNames
  if (!Array.isArray(parts)) throw invalid(`parts must be a list of ${systemParts.join(', ')}`)
  const unknown = parts.find((part) => !systemParts.includes(part))
  if (unknown !== undefined) throw invalid(`parts knows ${systemParts.join(', ')}, not "${unknown}"`)
  return parts
}

const VARIABLE = /\b(?:SAGAPOST_[A-Z_]+|DATABASE_URL|HOST|PORT)\b/g
const optionOf = new Map<string, string>(
  Object.entries(variables).map(([name, variable]) => [variable, name]),
)

/** The same error with the name of the option: `retryLimit`, not `SAGAPOST_RETRY_LIMIT`. */
export function inOptionNames(error: unknown): unknown {
  if (!(error instanceof SagapostError)) return error
  const message = error.message.replaceAll(VARIABLE, (variable) => optionOf.get(variable) ?? variable)
  return message === error.message ? error : new SagapostError(error.code, message, { cause: error })
}

function invalid(message: string): SagapostError {
  return new SagapostError('config_invalid', message)
}
