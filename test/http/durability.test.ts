import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { spawnCli } from '../support/spawn-cli.js'
import { adminKey, call } from './api-server.js'

const database = useDatabase()
const POSTS = 1_000
const ACKNOWLEDGED_BEFORE_THE_KILL = 200

it('[E1, S22] every event that was acknowledged is there after the server is killed under a thousand posts', async () => {
  const serve = spawnCli(['serve', '--only', 'api'], {
    DATABASE_URL: database.url,
    PORT: '0',
    SAGAPOST_API_KEY: adminKey,
    SAGAPOST_MASTER_KEY: randomBytes(32).toString('base64'),
  })
  const [, url = ''] = await serve.printed(/"url":"(http:[^"]+)"/)
  const acknowledged: string[] = []
  const posts = Array.from({ length: POSTS }, async (_, index) => {
    const key = index % 2 ? { idempotencyKey: `post-${index}` } : {}
    const { status, body } = await call(`${url}/v1/events`, 'POST', {
      body: { type: 'kill', payload: index, ...key },
    })
    expect(status).toBe(202)
    acknowledged.push(body.id)
    if (acknowledged.length === ACKNOWLEDGED_BEFORE_THE_KILL) serve.child.kill('SIGKILL')
  })
  const outcomes = await Promise.allSettled(posts)
  expect(await serve.exit).toBe('SIGKILL')
  expect(acknowledged.length).toBeGreaterThanOrEqual(ACKNOWLEDGED_BEFORE_THE_KILL)
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0)
  const { rows } = await database.pool.query('SELECT id FROM sagapost.events WHERE id = ANY ($1::bigint[])', [
    acknowledged,
  ])
  expect(rows).toHaveLength(new Set(acknowledged).size)
})
