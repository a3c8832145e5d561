import { storeEvents } from '../../src/delivery/index.js'
import { applyResults } from '../../src/delivery/orchestrator/apply-results.js'
import { makeJobs } from '../../src/delivery/orchestrator/make-jobs.js'
import { routeEvents } from '../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../src/delivery/router/subscription-cache.js'
import { type ClaimedJob, claimJobs } from '../../src/delivery/worker/claim-jobs.js'
import { reportResults } from '../../src/delivery/worker/report-results.js'
import type { TestDatabase } from '../support/database.js'
import { insertSubscription } from '../support/fixtures.js'
import { wholeWindow } from '../support/whole-window.js'

const range = { from: '0', to: '1000000' }
const policy = { baseDelayMs: 0, maxDelayMs: 3_600_000, retryAfterMaxS: 3_600, limit: 2 }
const PAYLOAD = '{ "order":7,  "text":"\\u0000 ü" }'

/** Every stage that a delivery can be in, by the name of the stage: the event's and the delivery's id. */
export type Staged = Record<
  'completed' | 'retried' | 'dead' | 'waiting' | 'reported' | 'leased' | 'offered' | 'pending',
  { eventId: string; deliveryId: string }
> & { subscriptionId: string; unroutedEventId: string; payload: string }

/** Healthy data, made by the parts' own operations under their own roles, with no HTTP in between. */
export async function stageDeliveries(database: TestDatabase): Promise<Staged> {
  const subscriptionId = await insertSubscription(database.pool, { type: 'stage' })
  const cache = createSubscriptionCache()

  const store = async () => {
    const [stored] = await storeEvents(database.as('event_ingest_writer'), [
      { type: 'stage', payload: PAYLOAD },
    ])
    if (!stored || 'refusal' in stored) throw new Error('the event was refused')
    return stored.id
  }
  const route = async () => {
    const eventId = await store()
    await routeEvents(database.as('router_worker'), cache, 10)
    const { rows } = await database.pool.query<{ id: string }>(
      'SELECT id FROM sagapost.webhook_delivery_sagas WHERE event_id = $1',
      [eventId],
    )
    return { eventId, deliveryId: rows[0]?.id as string }
  }
  const offer = () => makeJobs(database.as('saga_orchestrator'), { range, batchMax: 10, limit: policy.limit })
  const claim = async (): Promise<ClaimedJob> => {
    const { jobs } = await claimJobs(database.as('job_worker'), {
      range,
      batchMax: 1,
      leaseMs: 60_000,
      workerId: 'worker-1',
      except: [],
    })
    return jobs[0] as ClaimedJob
  }
  const report = async ({ id, eventId, leaseToken }: ClaimedJob, errorCode: string | null) =>
    reportResults(database.as('job_worker'), range, [
      {
        jobId: id,
        eventId,
        leaseToken,
        errorCode,
        responseStatus: errorCode === null ? 200 : 500,
        retryAfterS: null,
        durationMs: 5,
        responseExcerpt: null,
      },
    ])
  const apply = (baseDelayMs = 0) =>
    applyResults(database.as('saga_orchestrator'), {
      batchMax: 10,
      policy: { ...policy, baseDelayMs },
      window: wholeWindow,
    })
  const attempt = async (errorCode: string | null, baseDelayMs = 0) => {
    await offer()
    await report(await claim(), errorCode)
    await apply(baseDelayMs)
  }

  const completed = await route()
  await attempt(null)
  const retried = await route()
  await attempt('http_500')
  await attempt(null)
  const dead = await route()
  await attempt('http_500')
  await attempt('http_503')
  const waiting = await route()
  await attempt('http_500', 3_600_000)
  const reported = await route()
  await offer()
  await report(await claim(), 'http_500')
  const leased = await route()
  await offer()
  await claim()
  const offered = await route()
  await offer()
  await database
    .as('dead_letter_operator')
    .query('SELECT sagapost.requeue_dead_letter(id) FROM sagapost.dead_letters WHERE saga_id = $1', [
      dead.deliveryId,
    ])
  const pending = await route()
  const unroutedEventId = await store()
  return {
    completed,
    retried,
    dead,
    waiting,
    reported,
    leased,
    offered,
    pending,
    subscriptionId,
    unroutedEventId,
    payload: PAYLOAD,
  }
}
