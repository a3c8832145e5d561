import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { requeueEvents } from '../../src/delivery/index.js'
import { applyResults } from '../../src/delivery/orchestrator/apply-results.js'
import { makeJobs } from '../../src/delivery/orchestrator/make-jobs.js'
import { routeEvents } from '../../src/delivery/router/route-events.js'
import { createSubscriptionCache } from '../../src/delivery/router/subscription-cache.js'
import { claimJobs } from '../../src/delivery/worker/claim-jobs.js'
import { reportResults } from '../../src/delivery/worker/report-results.js'
import { checkInvariants } from '../../src/doctor/index.js'
import { useDatabase } from '../support/database.js'
import { insertEvent, insertSubscription } from '../support/fixtures.js'
import { countLockWaiters } from '../support/lock-waiters.js'
import { codeOf } from '../support/refusal.js'
import { defaultRetryPolicy } from '../support/retry-policy.js'
import { wholeWindow } from '../support/whole-window.js'

const database = useDatabase()
const range = { from: '0', to: '1000000' }

const page = readFileSync(new URL('../../docs/operating/partitions.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('## Retention'))
const [look = [], detachFirst = [], lookAgain = [], attachAgain = [], detachRest = []] = [
  ...section.matchAll(/^```sql\n(.*?)^```/gms),
].map(([, block = '']) => block.split(/;\n/).filter((statement) => statement.trim() !== ''))

async function run(statements: readonly string[]): Promise<void> {
  for (const statement of statements) await database.pool.query(statement)
}

async function counts(statements: readonly string[]): Promise<number[]> {
  const found: number[] = []
  for (const statement of statements) found.push(Number((await database.pool.query(statement)).rows[0].count))
  return found
}

const route = () => routeEvents(database.as('router_worker'), createSubscriptionCache(), 100)

/** What the parts do, with a receiver that takes everything; the payloads that it got. */
async function deliver(): Promise<(string | null)[]> {
  await makeJobs(database.as('saga_orchestrator'), { range, batchMax: 100, limit: 5 })
  const { jobs } = await claimJobs(database.as('job_worker'), {
    ...{ range, batchMax: 100, leaseMs: 60_000, workerId: 'worker-1', except: [] },
  })
  await reportResults(
    database.as('job_worker'),
    range,
    jobs.map(({ id: jobId, eventId, leaseToken }) => ({
      ...{ jobId, eventId, leaseToken, errorCode: null, responseStatus: 200, retryAfterS: null },
      ...{ durationMs: 5, responseExcerpt: null },
    })),
  )
  await applyResults(database.as('saga_orchestrator'), {
    batchMax: 100,
    policy: defaultRetryPolicy,
    window: wholeWindow,
  })
  return jobs.map(({ payload }) => payload)
}

it('[R1, O7] as documented loses no event of a publishing transaction that is open meanwhile', async () => {
  expect([look, detachFirst, lookAgain, attachAgain, detachRest].map(({ length }) => length)).toEqual([
    4, 2, 3, 2, 3,
  ])
  const type = 'retention'
  await insertSubscription(database.pool, { type })
  const old = await insertEvent(database.pool, { type })
  await route()
  await deliver()
  const publisher = await database.pool.connect()
  try {
    await publisher.query('BEGIN')
    const late = await insertEvent(publisher, { type, payload: '"late"' })
    await database.pool.query(`SELECT setval('sagapost.events_id_seq', 1500000)`)
    expect(await counts(look)).toEqual([0, 0, 0, 1])

    // As if the transaction had begun right after that look.
    const detaching = run(detachFirst)
    await expect.poll(() => countLockWaiters(database.pool)).toBe(1)
    await publisher.query('COMMIT')
    await detaching
    expect(await counts(lookAgain)).toEqual([1, 0, 0])
    await route()
    expect(await counts(lookAgain)).toEqual([0, 1, 0])

    await run(attachAgain)
    expect(await requeueEvents(database.as('dead_letter_operator'))).toMatchObject({ setAside: 1 })
    await route()
    expect(await codeOf(database.pool.query('DELETE FROM sagapost.events WHERE id = $1', [old]))).toBe(
      'append_only',
    )
    expect(await deliver()).toEqual(['"late"'])
    expect(await checkInvariants(database.as('saga_readonly_role'), { settled: true })).toEqual([])
    const { rows } = await database.pool.query(
      'SELECT status FROM sagapost.webhook_delivery_sagas WHERE event_id = $1',
      [late],
    )
    expect(rows).toEqual([{ status: 'Completed' }])
  } finally {
    publisher.release(true)
  }

  expect(await counts(look)).toEqual([0, 0, 0, 0])
  await run(detachFirst)
  expect(await counts(lookAgain)).toEqual([0, 0, 0])
  await run(detachRest)
  const { rows } = await database.pool.query('SELECT FROM sagapost.partitions WHERE from_id = 0')
  expect(rows).toHaveLength(0)
  await insertEvent(database.pool, { type })
  expect(await checkInvariants(database.as('saga_readonly_role'))).toEqual([])
})
