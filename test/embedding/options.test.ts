import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { readOptions } from '../../src/embedding/read-options.js'
import { Sagapost, type SagapostOptions, saga } from '../../src/index.js'

const masterKey = Buffer.alloc(32, 7).toString('base64')
const databaseUrl = 'postgres://user@127.0.0.1:1/nowhere'
const booking = saga('booking').transaction('book', { run: () => 1 })

it.each<[string, object, string]>([
  ['no database', { masterKey }, 'databaseUrl is missing'],
  ['an empty database', { databaseUrl: '', masterKey }, 'databaseUrl is missing'],
  ['no URL', { databaseUrl: 'localhost', masterKey }, 'databaseUrl cannot be used: it is not a URL'],
  ['no master key', { databaseUrl }, 'masterKey is missing'],
  ['a short master key', { databaseUrl, masterKey: 'abc' }, 'masterKey must be 32 random bytes in base64'],
  ['the API without a key', { databaseUrl, masterKey, parts: ['api'] }, 'apiKey is missing'],
  ['an unknown part', { databaseUrl, masterKey, parts: ['routers'] }, 'not "routers"'],
  ['parts as a text', { databaseUrl, masterKey, parts: 'router' }, 'parts must be a list'],
  ['a saga that is none', { databaseUrl, sagas: [{}] }, 'sagas must be a list of definitions'],
  [
    'transaction steps behind a login for each role',
    { databaseUrl: 'postgres://{role}@127.0.0.1:1/nowhere', parts: ['sagas'], sagas: [booking] },
    'databaseUrl cannot be used: it has a login for each {role}',
  ],
  [
    'a bad URL for transaction steps',
    { databaseUrl, parts: ['sagas'], sagas: [booking], sagaTransactionUrl: 'localhost' },
    'sagaTransactionUrl cannot be used',
  ],
  [
    'a lease of sagas',
    { databaseUrl, parts: [], sagaLeaseDuration: '10ms' },
    'sagaLeaseDuration must be a duration',
  ],
  [
    'no sagas at once',
    { databaseUrl, parts: [], sagaConcurrency: 0 },
    'sagaConcurrency must be a whole number',
  ],
  ['a short key for data', { databaseUrl, parts: [], sagaDataKey: 'abc' }, 'sagaDataKey must be 32'],
  ['an unknown option', { databaseUrl, masterKey, retrylimit: 3 }, 'unknown option "retrylimit"'],
  [
    'a limit of 0',
    { databaseUrl, masterKey, retryLimit: 0 },
    'retryLimit must be a whole number from 1 to 100, not "0"',
  ],
  ['half a limit', { databaseUrl, masterKey, retryLimit: 2.5 }, 'retryLimit must be'],
  [
    'a duration without a unit',
    { databaseUrl, masterKey, retryBaseDelay: '30' },
    'retryBaseDelay must be a duration',
  ],
  [
    'a negative duration',
    { databaseUrl, masterKey, retryBaseDelay: -5 },
    'retryBaseDelay must be a duration',
  ],
  [
    'a duration of NaN',
    { databaseUrl, masterKey, retryMaxDelay: Number.NaN },
    'retryMaxDelay must be a duration',
  ],
  [
    'a lease shorter than a request',
    { databaseUrl, masterKey, leaseDuration: '11s' },
    'leaseDuration must be at least 5 s longer than requestTimeout',
  ],
  ['a bad range', { databaseUrl, masterKey, allowedCidrs: ['10.0.0.0/99'] }, 'allowedCidrs: "10.0.0.0/99"'],
  [
    'a bad proxy',
    { databaseUrl, masterKey, trustedProxies: 'proxy.internal' },
    'trustedProxies: "proxy.internal"',
  ],
])('[O2] %s is refused at once, in terms of the options', (_, options, message) => {
  const make = () => new Sagapost(options as SagapostOptions)
  expect(make).toThrow(message)
  expect(make).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^(config|database_url)_invalid$/) }),
  )
})

it('[O4] durations are texts or milliseconds, lists are arrays, and the rest has the defaults of the environment', () => {
  const { config, parts } = readOptions({
    databaseUrl,
    masterKey,
    retryBaseDelay: 1_500,
    retryMaxDelay: '2h',
    retryAfterMax: 10_000_000,
    requireIdempotencyKey: true,
    deduplicationWindow: 40 * 86_400_000,
    allowedCidrs: ['10.0.0.0/8', 'fd00::/8'],
    concurrency: undefined,
    apiKey: '',
  })
  expect(parts).toEqual(['router', 'orchestrator', 'worker', 'cleaner', 'sagas'])
  expect(config).toMatchObject({
    retryBaseDelayMs: 1_500,
    retryMaxDelayMs: 7_200_000,
    retryAfterMaxMs: 10_000_000,
    requireIdempotencyKey: true,
    retryLimit: 5,
    deduplicationWindowMs: 40 * 86_400_000,
    concurrency: 50,
    allowedCidrs: '10.0.0.0/8,fd00::/8',
    apiKey: undefined,
  })
})

it('[O2] an instance that runs no part needs no master key, and the environment is not read', () => {
  process.env['SAGAPOST_RETRY_LIMIT'] = 'nonsense'
  try {
    expect(readOptions({ databaseUrl, parts: [] }).config.masterKey).toBeUndefined()
  } finally {
    delete process.env['SAGAPOST_RETRY_LIMIT']
  }
})

it('[G14] sagas run by default, and alone without a master key; the names reserved by Sagapost are refused', async () => {
  const hello = saga('hello').step('say', { run: () => 'hello' })
  expect(readOptions({ databaseUrl, parts: ['sagas'] }).config.masterKey).toBeUndefined()
  expect(readOptions({ databaseUrl, parts: ['sagas'], sagas: [hello] }).config.masterKey).toBeUndefined()
  const ours = saga('sagapost.requeue-dead-letters').step('requeue', { run: () => 0 })
  const reserved = { code: 'saga_definition_invalid', message: expect.stringContaining("Sagapost's own") }
  expect(() => new Sagapost({ databaseUrl, parts: ['sagas'], sagas: [ours] })).toThrow(
    expect.objectContaining(reserved),
  )
  const instance = new Sagapost({ databaseUrl, parts: [] })
  await expect(instance.sagas.start(ours, undefined)).rejects.toMatchObject(reserved)
  await expect(instance.sagas.startIn({} as never, ours, undefined)).rejects.toMatchObject(reserved)
  await instance.stop()
  expect(() => new Sagapost({ databaseUrl, parts: ['sagas'], sagas: [hello, hello] })).toThrow(
    expect.objectContaining({ code: 'saga_definition_invalid' }),
  )
})

it('[O1] every documented variable is an option, except those of the command line', async () => {
  const root = new URL('../../', import.meta.url)
  const page = await readFile(new URL('docs/reference/configuration.md', root), 'utf8')
  const source = await readFile(new URL('src/embedding/read-options.ts', root), 'utf8')
  const documented = [...page.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => name)
  const known = [...source.matchAll(/^ {2}\w+: '([A-Z_]+)',$/gm)].map(([, name]) => name)
  expect([...known, 'SAGAPOST_DATA_DIR', 'SAGAPOST_LOG_LEVEL'].sort()).toEqual(documented.sort())
})
