import { describe, expect, it } from 'vitest'
import { createSecretBox, createSubscription } from '../../src/subscriptions/index.js'
import { useDatabase } from '../support/database.js'
import { spawnCli } from '../support/spawn-cli.js'

const database = useDatabase()
const apiKey = 'the-administrators-key-of-the-environment'
const masterKey = Buffer.alloc(32, 7)
const env = {
  DATABASE_URL: database.url,
  SAGAPOST_API_KEY: apiKey,
  SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
}

describe('sagapost serve', () => {
  it('[S18] refuses to start with a master key other than the one that sealed the secrets', async () => {
    const callback = { eventType: 'flow.sealed', callbackUrl: 'https://127.0.0.1/hooks' }
    const options = { box: createSecretBox(masterKey), allowedCidrs: ['127.0.0.0/8'] }
    await createSubscription(database.as('subscription_admin'), callback, options)
    for (const only of ['worker', 'api']) {
      const other = spawnCli(['serve', '--only', only], {
        ...env,
        PORT: '0',
        SAGAPOST_MASTER_KEY: Buffer.alloc(32, 8).toString('base64'),
      })
      expect([await other.exit, other.stderr()]).toEqual([1, expect.stringContaining('[master_key_wrong]')])
    }
  })

  it('[O5] without the API it serves health and metrics at PORT, and nothing else', async () => {
    const worker = spawnCli(['serve', '--only', 'worker,cleaner'], { ...env, PORT: '0' })
    const [, url] = await worker.printed(/"url":"(http:[^"]+)"/)
    const get = async (path: string, key = '') =>
      (await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })).status
    expect(await Promise.all([get('/healthz'), get('/readyz'), get('/metrics')])).toEqual([200, 200, 401])
    expect(await Promise.all([get('/metrics', apiKey), get('/v1/events', apiKey)])).toEqual([200, 404])
    worker.child.kill('SIGTERM')
    expect([await worker.exit, worker.stderr()]).toEqual([0, ''])
  })

  it('[O2] refuses to start without its keys, or with an unknown part', async () => {
    const bare = spawnCli(['serve'], { DATABASE_URL: database.url })
    expect([await bare.exit, bare.stderr()]).toEqual([1, expect.stringContaining('[config_invalid]')])
    const odd = spawnCli(['serve', '--only', 'router,typo'], env)
    expect([await odd.exit, odd.stderr()]).toEqual([1, expect.stringContaining('not "typo"')])
  })
})
