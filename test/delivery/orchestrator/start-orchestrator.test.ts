import { pino } from 'pino'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { WorkWindow } from '../../../src/database/index.js'
import { startOrchestrator } from '../../../src/delivery/orchestrator/start-orchestrator.js'
import { createWakeups } from '../../../src/loop/index.js'
import { createResultCounter } from '../../../src/observability/index.js'
import { useDatabase } from '../../support/database.js'
import { insertDelivery } from '../../support/fixtures.js'
import { readWorkWindow } from '../../support/read-work-window.js'
import { defaultRetryPolicy } from '../../support/retry-policy.js'

const database = useDatabase()
const POLL_MS = 333
const SETTLE_MS = 100
let window: WorkWindow
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  window = await readWorkWindow(database.as('saga_orchestrator'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const stop of stops.splice(0)) await stop()
})

async function status(id: string): Promise<string> {
  const { rows } = await database.pool.query(
    'SELECT status FROM sagapost.webhook_delivery_sagas WHERE id = $1',
    [id],
  )
  return rows[0].status
}

/** In other hands until it is let go. */
async function lock(id: string): Promise<() => Promise<void>> {
  const client = await database.pool.connect()
  await client.query('BEGIN')
  await client.query('SELECT FROM sagapost.webhook_delivery_sagas WHERE id = $1 FOR UPDATE', [id])
  return async () => {
    await client.query('ROLLBACK')
    client.release()
  }
}

function start({ wakeups = createWakeups(), onGone = () => {} }) {
  const loop = startOrchestrator({
    pool: database.as('saga_orchestrator'),
    window: () => window,
    wakeups,
    log: pino({ level: 'silent' }),
    metrics: { resultApplied() {}, jobsMade() {}, deadLettered() {}, loopFailed() {} },
    counter: createResultCounter(),
    policy: defaultRetryPolicy,
    onGone,
    pollMs: () => POLL_MS,
  })
  stops.push(() => loop.stop())
}

/** Ends the delivery's attempt with this error. */
async function fail(id: string, errorCode: string): Promise<void> {
  const set = (assignments: string) =>
    database.pool.query(`UPDATE sagapost.webhook_delivery_jobs SET ${assignments} WHERE saga_id = $1`, [id])
  await expect.poll(() => status(id)).toBe('InProgress')
  await set(`status = 'Leased', lease_token = gen_random_uuid()`)
  await set(`status = 'Failed', error_code = '${errorCode}'`)
  await expect.poll(() => status(id)).toBe('PendingRetry')
}

describe('the orchestrator', () => {
  it('[S16] polls less and less often for rows that are locked, and finds them when they are released', async () => {
    const { id } = await insertDelivery(database.pool)
    const letGo = await lock(id)
    const other = await insertDelivery(database.pool)
    const letOtherGo = await lock(other.id)
    const wakeups = createWakeups()
    const claims: string[] = []
    wakeups.onWake('claims', () => claims.push('claims'))
    const timers = vi.spyOn(globalThis, 'setTimeout')
    // The pauses of the loop; the connections' own time-outs are longer.
    const pauses = () => timers.mock.calls.map(([, ms]) => ms ?? 0).filter((ms) => ms >= 1 && ms <= POLL_MS)
    start({ wakeups })
    await expect.poll(() => pauses().slice(0, 7)).toEqual([40, 80, 160, 320, POLL_MS, POLL_MS, POLL_MS])
    expect([await status(id), claims]).toEqual(['Pending', []])
    await letGo()
    await expect.poll(() => status(id)).toBe('InProgress')
    await expect.poll(() => claims).toEqual(['claims'])

    // After work it begins anew with short pauses, for what is left.
    await expect
      .poll(() => pauses().slice(pauses().indexOf(SETTLE_MS)).slice(0, 5))
      .toEqual([SETTLE_MS, 20, 40, 80, 160])
    await letOtherGo()
    await expect.poll(() => status(other.id)).toBe('InProgress')
  })

  it('[U5] reports a receiver as gone when it is, and only then', async () => {
    const onGone = vi.fn()
    start({ onGone })
    await fail((await insertDelivery(database.pool)).id, 'http_500')
    expect(onGone).not.toHaveBeenCalled()
    await fail((await insertDelivery(database.pool)).id, 'http_410')
    await expect.poll(() => onGone).toHaveBeenCalledOnce()
  })

  it('[S16, R1] works in older ranges in turn, when there are more than it visits in one round', async () => {
    const deliveries = []
    for (let n = 0; n < 11; n++) deliveries.push(await insertDelivery(database.pool))
    const borders = [...deliveries.map(({ eventId }) => eventId), window.fresh.to]
    const older = deliveries.map(({ eventId }, n) => ({ from: eventId, to: borders[n + 1] as string }))
    const whole = window
    window = { fresh: { from: '0', to: '0' }, older, borders }
    start({})
    for (const { id } of deliveries) await fail(id, 'http_500')
    window = whole
  })

  it.each([3, 8, 12])('[S16, R1] finds what is due in one of %i quiet older ranges', async (count) => {
    const { eventId } = await insertDelivery(database.pool, 'Completed')
    const borders = Array.from({ length: count + 1 }, (_, n) => String(Number(eventId) + 1 + n))
    const older = borders.slice(0, -1).map((from, n) => ({ from, to: borders[n + 1] as string }))
    const whole = window
    window = { fresh: { from: '0', to: '0' }, older, borders }
    const looks = vi.spyOn(database.as('saga_orchestrator'), 'query')
    start({})
    // It has gone through all of them and come to rest: nobody tells of what comes now.
    await expect.poll(() => looks.mock.calls.length).toBeGreaterThan(3 * count)
    const { id } = await insertDelivery(database.pool)
    await expect.poll(() => status(id)).toBe('InProgress')
    window = whole
  })

  it('[S7] a backlog does not delay the deliveries of other subscriptions', async () => {
    const { subscriptionId } = await insertDelivery(database.pool)
    const { rows: burst } = await database.pool.query(
      `INSERT INTO sagapost.events (event_type, payload)
       SELECT 'order.placed', '{}' FROM generate_series(1, 10_000) RETURNING id`,
    )
    await database.pool.query(
      'INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) SELECT unnest($1::bigint[]), $2',
      [burst.map(({ id }) => id), subscriptionId],
    )
    const lone = await insertDelivery(database.pool)
    start({})
    const pending = async () => {
      const { rows } = await database.pool.query(
        `SELECT count(*)::int AS count FROM sagapost.webhook_delivery_sagas WHERE status = 'Pending'`,
      )
      return rows[0].count
    }
    await expect.poll(pending).toBe(0)
    const { rows: places } = await database.pool.query(
      `SELECT count(*) FILTER (WHERE job.id > lone.id)::int AS after FROM sagapost.webhook_delivery_jobs AS job
       CROSS JOIN (SELECT id FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1) AS lone
       WHERE job.subscription_id = $2`,
      [lone.id, subscriptionId],
    )
    expect(places[0].after).toBeGreaterThanOrEqual(500)
  })
})
