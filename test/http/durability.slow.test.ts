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
  /** One after the other until the server is gone: however slow we read, some are under way when it is killed. */
  const post = async (_: unknown, index: number) => {
    for (let round = 0; ; round++) {
      const key = index % 2 ? { idempotencyKey: `post-${index}-${round}` } : {}
      const body = { type: 'kill', payload: index, ...key }
      const answer = await call(`${url}/v1/events`, 'POST', { body }).catch(() => undefined)
      if (answer === undefined) return
      expect(answer.status).toBe(202)
      acknowledged.push(answer.body.id)
      if (acknowledged.length === ACKNOWLEDGED_BEFORE_THE_KILL) serve.child.kill('SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: POSTS }, post))
  expect(await serve.exit).toBe('SIGKILL')
  expect(acknowledged.length).toBeGreaterThanOrEqual(ACKNOWLEDGED_BEFORE_THE_KILL)
  const { rows } = await database.pool.query('SELECT id FROM sagapost.events WHERE id = ANY ($1::bigint[])', [
    acknowledged,
  ])
  expect(rows).toHaveLength(new Set(acknowledged).size)
})
