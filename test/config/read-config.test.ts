import { describe, expect, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'

describe('readConfig', () => {
  it('[O4, S15] has the defaults of the rules: 30 s, 5 attempts, at most one hour', () => {
    expect(readConfig({})).toMatchObject({
      retryBaseDelayMs: 30_000,
      retryLimit: 5,
      retryMaxDelayMs: 3_600_000,
      deduplicationWindowMs: 30 * 86_400_000,
      port: 8080,
      host: '127.0.0.1',
      dataDir: './.sagapost',
    })
  })

  it('[O4] reads durations and numbers, and treats an empty value as absent', () => {
    const env = {
      SAGAPOST_RETRY_BASE_DELAY: '500ms',
      SAGAPOST_RETRY_LIMIT: '7',
      SAGAPOST_RETRY_MAX_DELAY: '',
    }
    expect(readConfig(env)).toMatchObject({
      retryBaseDelayMs: 500,
      retryLimit: 7,
      retryMaxDelayMs: 3_600_000,
    })
  })

  it.each([
    [{}, true],
    [{ SAGAPOST_PREPARED_STATEMENTS: 'off' }, false],
    [{ DATABASE_URL: 'postgres://{role}:x@pooler/app' }, false],
    [{ DATABASE_URL: 'postgres://{role}:x@pooler/app', SAGAPOST_PREPARED_STATEMENTS: 'on' }, true],
  ])(
    '[O2] statements are prepared unless a pooler is in between or it is switched off: %j',
    (env, expected) => {
      expect(readConfig(env).preparedStatements).toBe(expected)
    },
  )

  it.each([
    [{}, 3_600_000],
    [{ SAGAPOST_RETRY_MAX_DELAY: '10m' }, 600_000],
    [{ SAGAPOST_RETRY_MAX_DELAY: '30d' }, 86_400_000],
    [{ SAGAPOST_RETRY_AFTER_MAX: '24h' }, 86_400_000],
  ])('[S14] Retry-After is bounded by the longest delay unless more is allowed: %j', (env, expected) => {
    expect(readConfig(env).retryAfterMaxMs).toBe(expected)
  })

  it.each([
    ['SAGAPOST_RETRY_AFTER_MAX', '25h'],
    ['SAGAPOST_REQUIRE_IDEMPOTENCY_KEY', 'yes'],
    ['SAGAPOST_RETRY_BASE_DELAY', '30'],
    ['SAGAPOST_RETRY_BASE_DELAY', '-1s'],
    ['SAGAPOST_RETRY_BASE_DELAY', '0s'],
    ['SAGAPOST_RETRY_LIMIT', '0'],
    ['SAGAPOST_RETRY_LIMIT', '101'],
    ['SAGAPOST_CONCURRENCY', '0'],
    ['SAGAPOST_LEASE_DURATION', '10s'],
    ['SAGAPOST_MASTER_KEY', 'short'],
    ['SAGAPOST_REQUEST_TIMEOUT', '1y'],
    ['SAGAPOST_LOG_LEVEL', 'loud'],
    ['SAGAPOST_PREPARED_STATEMENTS', 'yes'],
  ])('[O4] %s=%s is refused with one line that names the variable', (name, value) => {
    expect(() => readConfig({ [name]: value })).toThrow(name)
  })
})
