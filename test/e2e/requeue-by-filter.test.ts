import { beforeAll, expect, it } from 'vitest'
import { createClient, type RequeueProgress, type SagapostClient } from '../../src/client/index.js'
import { createPostgresStorage } from '../../src/sagas/index.js'
import { expectHistoryToReplay } from '../sagas/history.js'
import { installClock, moveClock } from '../support/clock.js'
import { useDatabase } from '../support/database.js'
import { insertDeadLetters } from '../support/dead-letters.js'
import { insertSubscription } from '../support/fixtures.js'
import { useProcesses } from './use-processes.js'

const LETTERS = 50_000

const database = useDatabase()
const processes = useProcesses(database, () => '')
let client: SagapostClient

beforeAll(() => installClock(database.pool))

async function look(sagaId: string) {
  const saga = await client.sagas.get(sagaId)
  return {
    state: saga.state,
    attempts: saga.steps[0]?.attempts,
    progress: saga.steps[0]?.progress as unknown as RequeueProgress,
  }
}

const done = async (sagaId: string) => (await look(sagaId)).progress.requeued

/** How many deliveries there are for how many of the dead letters. */
async function requeuedTimes(): Promise<Record<string, number>> {
  const { rows } = await database.pool.query(
    `SELECT times, count(*)::int AS letters FROM (
       SELECT letter.id, count(saga.id)::int AS times FROM sagapost.dead_letters AS letter
       LEFT JOIN sagapost.webhook_delivery_sagas AS saga
         ON saga.requeued_from = letter.id AND saga.event_id = letter.event_id GROUP BY 1) AS counted
     GROUP BY 1`,
  )
  return Object.fromEntries(rows.map(({ times, letters }) => [times, letters]))
}

it('[D4, S19, G14] 50,000 dead letters: killed and resumed twice, cancelled once, requested again; each is requeued once', async () => {
  const subscriptionId = await insertSubscription(database.pool)
  await insertDeadLetters(database.pool, { count: LETTERS, subscriptionId })
  const api = await processes.serve('api', { PORT: '0' })
  const [, baseUrl = ''] = await api.printed(/"url":"([^"]+)"/)
  client = createClient({ baseUrl, apiKey: 'the-administrators-key-of-the-environment' })

  const { sagaId, matching } = await client.deadLetters.requeueMatching({ subscriptionId })
  expect(matching).toBe(LETTERS)
  let before = 0
  for (let kill = 1; kill <= 2; kill++) {
    const { child, exit } = await processes.serve('sagas')
    await expect.poll(() => done(sagaId), { interval: 10 }).toBeGreaterThan(before)
    child.kill('SIGKILL')
    expect(await exit).toBe('SIGKILL')
    // What it had sent to the database is finished there, or rolled back.
    const sessions = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'sagapost saga_app_role' AND state <> 'idle'`
    await expect.poll(async () => (await database.pool.query(sessions)).rowCount).toBe(0)
    const { progress, state, attempts } = await look(sagaId)
    expect({ state, attempts }).toEqual({ state: 'Running', attempts: kill })
    before = progress.requeued
    expect(before + progress.remaining).toBe(LETTERS)
    expect(progress.remaining).toBeGreaterThan(0)
    expect(await requeuedTimes()).toEqual({ 0: progress.remaining, 1: before })
    // Past its lease.
    await moveClock(database.pool, '1 minute')
  }

  await processes.serve('sagas')
  await expect.poll(() => done(sagaId), { interval: 10 }).toBeGreaterThan(before)
  await client.sagas.cancel(sagaId, { by: 'test', why: 'enough' })
  await expect.poll(async () => (await look(sagaId)).state).toBe('Cancelled')
  const { progress: first } = await look(sagaId)
  expect(first).toMatchObject({ matching: LETTERS, alreadyRequeued: 0, refused: 0 })
  expect(first.requeued + first.remaining).toBe(LETTERS)
  expect(await requeuedTimes()).toEqual({ 0: first.remaining, 1: first.requeued })
  expect(first.remaining).toBeGreaterThan(0)

  const again = await client.deadLetters.requeueMatching({ subscriptionId })
  await expect.poll(async () => (await look(again.sagaId)).state).toBe('Completed')
  expect((await look(again.sagaId)).progress).toEqual({
    matching: first.remaining,
    requeued: first.remaining,
    alreadyRequeued: 0,
    refused: 0,
    refusals: {},
    remaining: 0,
  })
  expect(await requeuedTimes()).toEqual({ 1: LETTERS })
  const { rowCount } = await database.pool.query('SELECT FROM sagapost.requeue_batches')
  expect(rowCount).toBe(0)
  const storage = createPostgresStorage({ pool: database.as('saga_app_role') })
  for (const id of [sagaId, again.sagaId]) await expectHistoryToReplay(storage, id)
  await processes.stopCleanly()
})
