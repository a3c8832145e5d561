import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { checkInvariants, compareTerminals, snapshotTerminals } from '../../src/doctor/index.js'
import { eventIdIn } from '../../src/model/index.js'
import { countDeliveries } from '../support/count-deliveries.js'
import { useDatabase } from '../support/database.js'
import type { ReceivedRequest } from '../support/https-receiver.js'
import { expectAllHolds, publish, untilSettled } from './deliveries.js'
import { useProcesses } from './use-processes.js'
import { type Endpoint, useReceiver } from './use-receiver.js'
import { varyPayload } from './vary-payload.js'

const PROCESSES_OF_EACH_PART = 3
const WORKERS = 10
const LOAD_MS = 60_000
/** Whatever the machine manages, the test stays bounded. */
const EVENTS_MAX = 4_000
const EVENTS_PER_BATCH = 10
const BATCH_PAUSE_MS = 150
const BATCHES_PER_CHECK = 25
const types = ['load.a', 'load.b'] as const

const database = useDatabase()
const receiver = useReceiver(database)
const processes = useProcesses(database, () => receiver.authority)

/** Always the same for the same attempt: one in a hundred events never gets through, one attempt in six fails. */
function respond({ headers, path }: ReceivedRequest) {
  const event = Number(eventIdIn(String(headers['webhook-id'])))
  if (event % 100 === 7) return { status: 500 }
  const draw =
    Math.imul(event * 31 + Number(headers['sagapost-attempt']) * 7 + path.length, 2_654_435_761) >>> 0
  return { status: draw % 6 === 0 ? 503 : 200 }
}

it('[O2, J4, R3, S9, S13, O7] three processes of each part and ten workers, under load for a minute: every invariant holds', async () => {
  receiver.respond = respond
  const log = receiver.startLog()
  const published = new Map<string, string>()
  const routes: Endpoint[] = []
  // Three deliveries for an event of the one type, one for the other.
  for (const type of [types[0], types[0], types[0], types[1]])
    routes.push(await receiver.subscribe(type, log))

  const settings = { SAGAPOST_RETRY_BASE_DELAY: '200ms', SAGAPOST_CONCURRENCY: '4' }
  for (let n = 0; n < PROCESSES_OF_EACH_PART; n++) {
    await Promise.all(['router', 'orchestrator', 'cleaner'].map((part) => processes.serve(part, settings)))
  }
  for (let n = 0; n < WORKERS; n += 2) {
    await Promise.all([processes.serve('worker', settings), processes.serve('worker', settings)])
  }

  const readOnly = database.as('saga_readonly_role')
  let terminals = await snapshotTerminals(readOnly)
  const checkWhileRunning = async () => {
    expect(await checkInvariants(readOnly, { routes })).toEqual([])
    const now = await snapshotTerminals(readOnly)
    expect(compareTerminals(terminals, now)).toEqual([])
    terminals = now
  }
  // The minute is the load's length, not a time that anything must happen in.
  const endsAt = performance.now() + LOAD_MS
  for (let batch = 0; performance.now() < endsAt && published.size < EVENTS_MAX; batch++) {
    await publish(
      database,
      published,
      Array.from({ length: EVENTS_PER_BATCH }, (_, n) => ({
        type: types[(batch + n) % types.length] as string,
        payload: varyPayload(batch * EVENTS_PER_BATCH + n),
      })),
    )
    if (batch % BATCHES_PER_CHECK === 0) await checkWhileRunning()
    await sleep(BATCH_PAUSE_MS)
  }
  await untilSettled(database)
  await checkWhileRunning()
  await processes.stopCleanly()

  await expectAllHolds(database, { published, log }, routes)
  const { accepted, completed, deadLettered } = await countDeliveries(readOnly)
  expect(completed + deadLettered).toBe(accepted)
  expect(deadLettered).toBeGreaterThan(0)
  // Nothing was killed and no lease was lost, so nothing arrived twice.
  const { rows } = await database.pool.query(
    `SELECT sum(lease_resets)::int AS resets, count(DISTINCT worker_id)::int AS workers, count(*)::int AS jobs
     FROM sagapost.webhook_delivery_jobs`,
  )
  expect(rows).toEqual([{ resets: 0, workers: WORKERS, jobs: log.requests }])
})
