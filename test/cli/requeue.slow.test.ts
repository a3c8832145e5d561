import { expect, it } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { useDatabase } from '../support/database.js'
import { insertDeadLetters } from '../support/dead-letters.js'
import { insertSubscription } from '../support/fixtures.js'
import { runCli } from '../support/run-cli.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'
import { spawnCli } from '../support/spawn-cli.js'

const database = useDatabase()
const server = useSagapost(database)
const client = () => createClient({ baseUrl: server.url, apiKey: adminKey })
const env = () => ({ SAGAPOST_URL: server.url, SAGAPOST_API_KEY: adminKey, USER: 'ann' })

it('[D4] can be detached, left by Ctrl-C and joined again, and cancelled', async () => {
  const subscription = await insertSubscription(database.pool, { url: 'https://127.0.0.1:1/' })
  await insertDeadLetters(database.pool, { count: 3, subscriptionId: subscription })
  // Its batch is blocked by a change of the subscription.
  const holder = await database.pool.connect()
  try {
    await holder.query('BEGIN')
    await holder.query('SELECT FROM sagapost.subscriptions WHERE id = $1 FOR UPDATE', [subscription])
    const detached = await runCli(
      ['dead-letters', 'requeue', '--subscription', subscription, '--detach', '--json'],
      env(),
    )
    const { sagaId, matching } = JSON.parse(detached.stdout)
    expect(matching).toBe(3)
    const following = spawnCli(['dead-letters', 'requeue', '--follow', sagaId], env())
    await following.printed(/0 of 3/)
    following.child.kill('SIGINT')
    expect(await following.exit).toBe(130)
    expect(following.stderr()).toContain(`sagapost dead-letters requeue --follow ${sagaId}\n`)
    expect((await client().sagas.get(sagaId)).completedAt).toBeNull()
    const joined = spawnCli(['dead-letters', 'requeue', '--follow', sagaId, '--json'], env())
    await joined.printed(/"remaining":3/)
    await runCli(['sagas', 'cancel', sagaId, '--why', 'enough'], env())
    expect(await joined.exit).toBe(1)
    const end = JSON.parse(joined.stdout().trimEnd().split('\n').at(-1) ?? '')
    expect(end).toMatchObject({ sagaId, state: 'Cancelled', requeued: 0, remaining: 3 })
  } finally {
    await holder.query('ROLLBACK')
    holder.release()
  }
})
