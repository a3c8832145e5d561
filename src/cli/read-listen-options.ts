import { parseDuration } from '../duration.js'
import { SagapostError } from '../errors/index.js'
import { nodeHandler, WebhookVerificationError } from '../receiver/index.js'

/** The options as parsed by commander. */
export interface ListenArguments {
  port: string
  host: string
  secret: readonly string[]
  status?: string
  delay?: string
  failFirst?: string
  json?: true
}

export interface ListenSettings {
  port: number
  host: string
  secrets: readonly string[]
  /** Undefined: 200, or 500 for the failures of --fail-first. */
  status: number | undefined
  delayMs: number
  /** The number of requests that fail for each webhook-id. */
  failFirst: number
}

const PORT_MAX = 65_535
const DELAY_MS_MAX = 86_400_000
const FAIL_FIRST_MAX = 1000

export function readListenOptions(given: ListenArguments): ListenSettings {
  const settings = {
    port: readInteger('--port', given.port, 0, PORT_MAX),
    host: readHost(given.host),
    secrets: readSecrets(given.secret),
    status: given.status === undefined ? undefined : readInteger('--status', given.status, 200, 599),
    delayMs: given.delay === undefined ? 0 : readDelay(given.delay),
    failFirst:
      given.failFirst === undefined ? 0 : readInteger('--fail-first', given.failFirst, 1, FAIL_FIRST_MAX),
  }
  if (settings.failFirst > 0 && settings.status !== undefined && settings.status < 300) {
    throw invalid(`--fail-first needs a --status that fails, not ${settings.status}`)
  }
  return settings
}

function readInteger(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d{1,6}$/.test(text) && value >= min && value <= max) return value
  throw invalid(`${name} must be a whole number from ${min} to ${max}, not "${text}"`)
}

function readHost(text: string): string {
  if (/^[A-Za-z0-9.:-]{1,253}$/.test(text)) return text
  throw invalid(`--host must be an address or a name of this machine, not "${text}"`)
}

function readDelay(text: string): number {
  const value = parseDuration(text)
  if (value !== undefined && value <= DELAY_MS_MAX) return value
  throw invalid(`--delay must be a duration like 500ms, 30s or 5m, at most a day, not "${text}"`)
}

/** The receiver kit refuses an invalid secret, and its error does not repeat the secret. */
function readSecrets(secrets: readonly string[]): readonly string[] {
  try {
    if (secrets.length > 0) nodeHandler({ secret: secrets, onEvent: () => {} })
    return secrets
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error
    throw invalid(`--secret cannot be used: ${error.message}`)
  }
}

function invalid(message: string): SagapostError {
  return new SagapostError('config_invalid', message)
}
