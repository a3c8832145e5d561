export const API_KEY = 'the-administrators-key-of-the-benchmark'
export const masterKey = Buffer.alloc(32, 1)

/**
 * However busy a worker is, it keeps slots for the next subscription that has work: the four of the benchmark use four
 * fifths of them. With so many there are as many requests in flight as the other systems have.
 */
const SLOTS_PER_REQUEST = 5 / 4

/** The defaults, but for what a benchmark on one machine needs; no line for each delivery, as none of the others write one. */
export function sagapostEnvironment({
  databaseUrl,
  concurrency,
}: {
  databaseUrl: string
  concurrency: number
}): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    PORT: '0',
    SAGAPOST_API_KEY: API_KEY,
    SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
    SAGAPOST_ALLOWED_CIDRS: '127.0.0.0/8',
    SAGAPOST_CONCURRENCY: String(Math.ceil(concurrency * SLOTS_PER_REQUEST)),
    SAGAPOST_LOG_LEVEL: 'warn',
  }
}
