import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  defaultBreakerPolicy,
  noteFailures,
  noteSuccesses,
} from '../../../src/delivery/breakers/note-outcomes.js'
import { readOpenBreakers, takeProbes } from '../../../src/delivery/breakers/open-breakers.js'
import { installStoppedClock, moveClock } from '../../support/clock.js'
import { useDatabase } from '../../support/database.js'
import { insertSubscription } from '../../support/fixtures.js'

const database = useDatabase()
const policy = defaultBreakerPolicy

beforeAll(() => installStoppedClock(database.pool))
beforeEach(() => database.pool.query('DELETE FROM sagapost.subscription_breakers'))

const worker = () => database.as('job_worker')
const fail = async (subscriptionId: string, failures = 1, isStopped = false) =>
  (
    await noteFailures(worker(), [{ subscriptionId, failures, errorCode: 'http_500', isStopped }], policy)
  ).map((opened) => opened.subscriptionId)
const isOpen = async (id: string) => (await readOpenBreakers(worker())).open.has(id)

/** Ten failures over two minutes. */
async function openBreaker(): Promise<string> {
  const id = await insertSubscription(database.pool)
  expect(await fail(id, 9)).toEqual([])
  await moveClock(database.pool, '2 minutes')
  expect(await fail(id)).toEqual([id])
  return id
}

describe('the breaker of a subscription', () => {
  it('[J7] opens after ten consecutive failures over at least two minutes', async () => {
    const few = await insertSubscription(database.pool)
    await fail(few, 8)
    const brief = await insertSubscription(database.pool)
    await fail(brief, 48)
    await moveClock(database.pool, '119.999999 seconds')
    expect(await fail(brief)).toEqual([])
    await moveClock(database.pool, '1 hour')
    expect(await fail(few)).toEqual([])
    expect((await readOpenBreakers(worker())).failing).toEqual(new Set([few, brief]))
    expect(await fail(few)).toEqual([few])
    expect([await isOpen(few), await isOpen(brief)]).toEqual([true, false])
    await moveClock(database.pool, '1 second')
    expect(await fail(few)).toEqual([])
  })

  it('[J7] opens after fifty consecutive failures of all workers, however short the time', async () => {
    const [added, atOnce] = [await insertSubscription(database.pool), await insertSubscription(database.pool)]
    expect([await fail(added, 49), await fail(added)]).toEqual([[], [added]])
    expect(await fail(atOnce, 50)).toEqual([atOnce])
    expect([await isOpen(added), await isOpen(atOnce)]).toEqual([true, true])
    await moveClock(database.pool, '30 seconds')
    expect((await takeProbes(worker(), policy, 100)).sort()).toEqual([added, atOnce].sort())
  })

  it('[J7] opens at once when a worker has stopped sending, with its first failures or later ones', async () => {
    const [first, later] = [await insertSubscription(database.pool), await insertSubscription(database.pool)]
    expect(await fail(first, 3, true)).toEqual([first])
    expect([await fail(later, 3), await fail(later, 1, true)]).toEqual([[], [later]])
    expect([await isOpen(first), await isOpen(later)]).toEqual([true, true])
  })

  it('[J7] a success in between restarts the count, and closes an open breaker', async () => {
    const id = await insertSubscription(database.pool)
    await fail(id, 9)
    await moveClock(database.pool, '1 hour')
    expect(await noteSuccesses(worker(), [id])).toEqual([])
    expect(await fail(id, 9)).toEqual([])
    expect(await isOpen(id)).toBe(false)
    const open = await openBreaker()
    expect(await noteSuccesses(worker(), [open])).toEqual([open])
    expect(await isOpen(open)).toBe(false)
  })

  it('[J7] one worker gets the probe, once in thirty seconds', async () => {
    const id = await openBreaker()
    expect([(await readOpenBreakers(worker())).probeDue, await takeProbes(worker(), policy, 100)]).toEqual([
      false,
      [],
    ])
    await moveClock(database.pool, '30 seconds')
    expect((await readOpenBreakers(worker())).probeDue).toBe(true)
    const taken = await Promise.all([1, 2, 3].map(() => takeProbes(worker(), policy, 100)))
    expect(taken.flat()).toEqual([id])
    await moveClock(database.pool, '30 seconds')
    expect(await takeProbes(worker(), policy, 100)).toEqual([id])
  })

  it('[S17] pauses for a day at most; after that the deliveries use their attempts', async () => {
    const id = await openBreaker()
    await moveClock(database.pool, '23 hours 59 minutes')
    expect(await isOpen(id)).toBe(true)
    await moveClock(database.pool, '2 minutes')
    expect([await isOpen(id), await takeProbes(worker(), policy, 100)]).toEqual([false, []])
    expect([await fail(id, 20), await isOpen(id)]).toEqual([[], false])
  })

  it.each([
    [
      'another URL',
      `UPDATE sagapost.subscriptions SET callback_url = 'https://other.example/' WHERE id = $1`,
    ],
    [
      'an operator who switches it off and on',
      `UPDATE sagapost.subscriptions SET active = true WHERE id = $1`,
    ],
    ['a verification that was passed', `SELECT sagapost.confirm_verification($1, 'challenge-challenge')`],
  ])('[U4] %s closes it', async (what, sql) => {
    const id = await openBreaker()
    const prepare = what.startsWith('an operator')
      ? 'active = false'
      : `verification_challenge = 'challenge-challenge'`
    await database.pool.query(`UPDATE sagapost.subscriptions SET ${prepare} WHERE id = $1`, [id])
    expect(await isOpen(id)).toBe(true)
    await database.pool.query(sql, [id])
    expect(await isOpen(id)).toBe(false)
  })
})
