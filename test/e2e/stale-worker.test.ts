import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { checkInvariants, compareTerminals, snapshotTerminals } from '../../src/doctor/index.js'
import { installClock, moveClock } from '../support/clock.js'
import { useDatabase } from '../support/database.js'
import type { ReceiverResponse } from '../support/https-receiver.js'
import { deliveriesOf, expectAllHolds, publish, SETTLE_MS_MAX, untilSettled } from './deliveries.js'
import { useProcesses } from './use-processes.js'
import { useReceiver } from './use-receiver.js'

const database = useDatabase()
beforeAll(() => installClock(database.pool))
const receiver = useReceiver(database)
const processes = useProcesses(database, () => receiver.authority)
const poll = { timeout: SETTLE_MS_MAX, interval: 100 }

/** What a worker says of a report, refused or taken. */
const REPORTED = /"msg":"(lease was lost; the result was refused|delivered|not delivered)"/
const REFUSED = 'lease was lost; the result was refused'

/** Requests are held until the test answers them, in the order in which they came. */
let held: ((response: ReceiverResponse) => void)[] = []
beforeAll(() => {
  receiver.respond = () => new Promise((answer) => held.push(answer))
})
afterEach(() => {
  for (const answer of held) answer({ status: 500 })
  held = []
})

const jobOf = async (subscriptionId: string) => {
  const { rows } = await database.pool.query(
    'SELECT * FROM sagapost.webhook_delivery_jobs WHERE subscription_id = $1',
    [subscriptionId],
  )
  expect(rows).toHaveLength(1)
  return rows[0]
}

/** One worker is stopped in mid-request past its lease, and another has sent the same job. */
async function overtake(eventType: string) {
  const log = receiver.startLog()
  const published = new Map<string, string>()
  const endpoint = await receiver.subscribe(eventType, log)
  const [, stale] = await Promise.all([
    processes.serve('router,orchestrator,cleaner'),
    processes.serve('worker'),
  ])
  await publish(database, published, [{ type: eventType, payload: '{"order": 7}' }])
  await expect.poll(() => log.requests, poll).toBe(1)
  stale.child.kill('SIGSTOP')
  const before = await jobOf(endpoint.subscriptionId)
  await processes.serve('worker')
  await moveClock(database.pool, '61 seconds')
  await expect.poll(() => log.requests, poll).toBe(2)
  const after = await jobOf(endpoint.subscriptionId)
  expect(after).toMatchObject({ id: before.id, status: 'Leased', lease_resets: 1 })
  expect(after.worker_id).not.toBe(before.worker_id)
  expect(after.lease_token).not.toBe(before.lease_token)
  return { log, published, endpoint, stale }
}

describe('a worker that was suspended past its lease and continues', () => {
  it('[J5, J8] while another one sends: its report is refused and the new lease stays intact', async () => {
    const { log, published, endpoint, stale } = await overtake('stale.sending')
    const [answerStale, answerHeir] = held
    const leased = await jobOf(endpoint.subscriptionId)
    // Its answer is a failure, so that a report that slipped through would show.
    answerStale?.({ status: 500 })
    stale.child.kill('SIGCONT')
    expect((await stale.printed(REPORTED))[1]).toBe(REFUSED)
    expect(await jobOf(endpoint.subscriptionId)).toEqual(leased)
    expect(await checkInvariants(database.as('saga_readonly_role'))).toEqual([])

    answerHeir?.({ status: 200 })
    await untilSettled(database)
    await processes.stopCleanly()
    expect(await deliveriesOf(database, endpoint.subscriptionId)).toMatchObject([
      { status: 'Completed', attempt_count: 1, final_error_code: null },
    ])
    await expectAllHolds(database, { published, log }, [endpoint])
  })

  it('[J5, S4, S11] after the delivery is done: its report is refused and nothing changes', async () => {
    const { log, published, endpoint, stale } = await overtake('stale.done')
    const [answerStale, answerHeir] = held
    answerHeir?.({ status: 200 })
    await untilSettled(database)
    const before = await snapshotTerminals(database.as('saga_readonly_role'))

    answerStale?.({ status: 500 })
    stale.child.kill('SIGCONT')
    expect((await stale.printed(REPORTED))[1]).toBe(REFUSED)
    await processes.stopCleanly()
    expect(compareTerminals(before, await snapshotTerminals(database.as('saga_readonly_role')))).toEqual([])
    expect(await deliveriesOf(database, endpoint.subscriptionId)).toMatchObject([
      { status: 'Completed', attempt_count: 1, final_error_code: null },
    ])
    expect(log.requests).toBe(2)
    await expectAllHolds(database, { published, log }, [endpoint])
  })
})
