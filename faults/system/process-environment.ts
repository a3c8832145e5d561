import { LEASE_MS, REQUEST_TIMEOUT_MS } from '../schedule/plan-schedule.js'

export const API_KEY = 'the-administrators-key-of-the-fault-tests'
export const masterKey = Buffer.alloc(32, 3)
export const LOOPBACK = '127.0.0.0/8'

/** A receiver that is away for some seconds is outlasted; one that stays away ends in dead letters. */
const RETRY_LIMIT = 8

/** The defaults, but for times that let faults and their end be seen within seconds. */
export function processEnvironment(databaseUrl: string, authorityFile: string): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    SAGAPOST_API_KEY: API_KEY,
    SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
    SAGAPOST_ALLOWED_CIDRS: LOOPBACK,
    SAGAPOST_LEASE_DURATION: `${LEASE_MS}ms`,
    SAGAPOST_REQUEST_TIMEOUT: `${REQUEST_TIMEOUT_MS}ms`,
    SAGAPOST_RETRY_BASE_DELAY: '200ms',
    SAGAPOST_RETRY_MAX_DELAY: '2s',
    SAGAPOST_RETRY_LIMIT: String(RETRY_LIMIT),
    SAGAPOST_CONCURRENCY: '50',
    NODE_EXTRA_CA_CERTS: authorityFile,
  }
}
