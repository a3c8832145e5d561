import type pg from 'pg'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBreakers } from '../../../src/delivery/breakers/breakers.js'
import { type BreakerPolicy, defaultBreakerPolicy } from '../../../src/delivery/breakers/note-outcomes.js'
import { useDatabase } from '../../support/database.js'
import { insertDelivery, insertSubscription } from '../../support/fixtures.js'
import { wholeWindow } from '../../support/whole-window.js'

const database = useDatabase()
const stops: (() => Promise<void>)[] = []

beforeEach(() => database.pool.query('DELETE FROM sagapost.subscription_breakers'))
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A keeper that has read the breakers; `onQuery` sees every statement first, and may throw. */
async function start(
  onQuery: (sql: string) => void = () => {},
  policy: BreakerPolicy = { ...defaultBreakerPolicy, failuresMin: 3, failingMsMin: 0 },
) {
  const statements: string[] = []
  const events: string[] = []
  const pool = {
    query: async (sql: string, values: unknown[]) => {
      statements.push(sql)
      onQuery(sql)
      return database.as('job_worker').query(sql, values)
    },
  } as unknown as pg.Pool
  const breakers = createBreakers({
    pool,
    window: wholeWindow,
    policy,
    log: pino({ level: 'silent' }),
    onOpen: () => events.push('onOpen'),
    onClose: () => events.push('onClose'),
    roomForProbes: () => 100,
    onProbe: async () => {},
    metrics: {
      breakerOpened: () => events.push('opened'),
      breakerClosed: () => events.push('closed'),
      loopFailed: (part) => events.push(`${part} failed`),
    },
  })
  stops.push(breakers.stop)
  await expect.poll(breakers.isKnown).toBe(true)
  events.length = 0
  statements.length = 0
  return { breakers, statements, events }
}

const subscription = () => insertSubscription(database.pool)

/** The failures of each subscription that has a row. */
async function written(): Promise<Record<string, number>> {
  const { rows } = await database.pool.query(
    'SELECT subscription_id, failures FROM sagapost.subscription_breakers',
  )
  return Object.fromEntries(rows.map(({ subscription_id, failures }) => [subscription_id, failures]))
}

describe('outcomes noted between two exchanges', () => {
  it('[J7] failures add up', async () => {
    const { breakers } = await start()
    const failing = await subscription()
    for (let n = 0; n < 2; n++) breakers.note(failing, 'http_500')
    breakers.wake()
    await expect.poll(written).toEqual({ [failing]: 2 })
  })

  it.each([
    ['before', [null, 'http_500', 'timeout']],
    ['after', ['http_500', 'timeout', null]],
  ])('[J7] a success %s the failures ends their run', async (_when, outcomes) => {
    const { breakers } = await start()
    const [mixed, failing] = [await subscription(), await subscription()]
    for (const outcome of outcomes) breakers.note(mixed, outcome)
    breakers.note(failing, 'http_500')
    breakers.wake()
    await expect.poll(written).toEqual({ [failing]: 1 })
  })

  it.each(['aborted', 'secret_unreadable', 'invalid_headers', 'invalid_url'])(
    '[J7] %s says nothing about the endpoint',
    async (code) => {
      const { breakers } = await start()
      const [ours, failing] = [await subscription(), await subscription()]
      breakers.note(ours, code)
      breakers.note(failing, 'connection_refused')
      breakers.wake()
      await expect.poll(written).toEqual({ [failing]: 1 })
    },
  )

  it('[J7] a success is written only after failures', async () => {
    const { breakers, statements, events } = await start()
    const [healthy, failing] = [await subscription(), await subscription()]
    const deletions = () => statements.filter((sql) => sql.includes('DELETE')).length
    breakers.note(healthy, null)
    breakers.note(failing, 'http_500')
    breakers.wake()
    await expect.poll(written).toEqual({ [failing]: 1 })
    expect(deletions()).toBe(0)
    await expect.poll(() => statements.some((sql) => sql.includes('probe_due'))).toBe(true)
    breakers.note(failing, null)
    breakers.wake()
    await expect.poll(written).toEqual({})
    expect([deletions(), events]).toEqual([1, []])
  })

  it('[J7] the breaker opens and closes for all workers', async () => {
    const { breakers, events } = await start()
    const failing = await subscription()
    breakers.note(failing, 'http_500')
    breakers.wake()
    await expect.poll(written).toEqual({ [failing]: 1 })
    for (let n = 0; n < 2; n++) breakers.note(failing, 'http_500')
    breakers.wake()
    await expect.poll(() => breakers.isOpen(failing)).toBe(true)
    expect([breakers.open(), events]).toEqual([[failing], ['opened', 'onOpen']])
    breakers.note(failing, null, { probe: true })
    breakers.wake()
    await expect.poll(() => breakers.isOpen(failing)).toBe(false)
    expect(events).toEqual(['opened', 'onOpen', 'closed', 'onClose'])
  })
})

describe('under load', () => {
  /** That the database has heard of nothing yet. */
  const unexchanged = async (outcomes: (string | null)[]) => {
    const { breakers, events } = await start(() => {}, defaultBreakerPolicy)
    const id = await subscription()
    for (const outcome of outcomes) breakers.note(id, outcome)
    return { breakers, events, id }
  }
  const outcomes = (count: number, isSuccess: (n: number) => boolean) =>
    Array.from({ length: count }, (_, n) => (isSuccess(n) ? null : 'http_503'))

  it('[J7] nothing more is sent from the fiftieth failure on: first by this worker, then by all', async () => {
    const { breakers, events, id } = await unexchanged(outcomes(49, () => false))
    expect([breakers.isOpen(id), events]).toEqual([false, []])
    breakers.note(id, 'http_503')
    expect([breakers.isOpen(id), breakers.open(), events]).toEqual([true, [id], ['onOpen']])
    await expect.poll(() => events).toEqual(['onOpen', 'opened'])
    const other = (await start()).breakers
    expect([breakers.isOpen(id), other.isOpen(id)]).toEqual([true, true])
  })

  it('[J7] five successes among fifty do not prevent a pause, six do', async () => {
    const bad = await unexchanged(outcomes(50, (n) => n % 10 === 8))
    const better = await unexchanged(outcomes(200, (n) => n % 8 === 7))
    expect([bad.breakers.isOpen(bad.id), better.breakers.isOpen(better.id)]).toEqual([true, false])
  })

  it('[J7] an endpoint that fails one time in ten is never paused, and costs a write only where a failure is its last outcome', async () => {
    const { breakers, id } = await unexchanged(outcomes(1_000, (n) => n % 10 !== 0))
    breakers.wake()
    const failing = await subscription()
    breakers.note(failing, 'http_500')
    await expect.poll(written).toEqual({ [failing]: 1 })
    expect(breakers.isOpen(id)).toBe(false)
  })

  it('[J7] a request from before the breaker opened no longer closes it; a successful probe does, and counting restarts', async () => {
    const { breakers, events, id } = await unexchanged(outcomes(50, () => false))
    await expect.poll(() => events).toEqual(['onOpen', 'opened'])
    breakers.note(id, null)
    breakers.wake()
    const marker = await subscription()
    breakers.note(marker, 'http_500')
    await expect.poll(async () => (await written())[marker]).toBe(1)
    expect(breakers.isOpen(id)).toBe(true)
    breakers.note(id, null, { probe: true })
    breakers.wake()
    await expect.poll(() => breakers.isOpen(id)).toBe(false)
    expect(events).toEqual(['onOpen', 'opened', 'closed', 'onClose'])
    for (let n = 0; n < 49; n++) breakers.note(id, 'http_503')
    expect(breakers.isOpen(id)).toBe(false)
  })

  it('[J7] sending stays stopped while the exchange fails, and the breaker opens for all with the next one', async () => {
    let away = true
    const { breakers, events } = await start((sql) => {
      if (away && sql.includes('INSERT')) throw new Error('the database is unreachable')
    }, defaultBreakerPolicy)
    const id = await subscription()
    // Healthy until now, in the same exchange.
    breakers.note(id, null)
    for (let n = 0; n < 50; n++) breakers.note(id, 'http_503')
    await expect.poll(() => events).toContain('worker failed')
    expect([breakers.isOpen(id), await written()]).toEqual([true, {}])
    away = false
    await expect.poll(() => events).toContain('opened')
    expect(breakers.isOpen(id)).toBe(true)
  })
})

describe('an exchange that fails', () => {
  it('[J7] loses no failure, unless the endpoint has recovered meanwhile', async () => {
    let meanwhile: (() => void) | undefined
    const { breakers } = await start((sql) => {
      if (!meanwhile || !sql.includes('INSERT')) return
      meanwhile()
      meanwhile = undefined
      throw new Error('the database is unreachable')
    })
    const [failing, recovered] = [await subscription(), await subscription()]
    meanwhile = () => breakers.note(recovered, null)
    for (let n = 0; n < 2; n++) breakers.note(failing, 'http_500')
    breakers.note(recovered, 'http_500')
    breakers.wake()
    await expect.poll(written).toEqual({ [failing]: 2 })
    expect(meanwhile).toBeUndefined()
  })

  it('[J7] adds later failures to those noted before', async () => {
    let meanwhile: (() => void) | undefined
    const { breakers } = await start((sql) => {
      if (!meanwhile || !sql.includes('INSERT')) return
      meanwhile()
      meanwhile = undefined
      throw new Error('the database is unreachable')
    })
    const failing = await subscription()
    meanwhile = () => breakers.note(failing, 'timeout')
    breakers.note(failing, 'http_500')
    breakers.wake()
    await expect.poll(written).toEqual({ [failing]: 2 })
  })

  it('[J7] loses no success, whatever fails meanwhile', async () => {
    let away = false
    const { breakers } = await start((sql) => {
      if (!away || !sql.includes('DELETE')) return
      away = false
      breakers.note(failing, 'timeout')
      throw new Error('the database is unreachable')
    })
    const failing = await subscription()
    breakers.note(failing, 'http_500')
    breakers.wake()
    await expect.poll(written).toEqual({ [failing]: 1 })
    away = true
    breakers.note(failing, null)
    breakers.wake()
    await expect.poll(written).toEqual({})
    expect(away).toBe(false)
  })
})

describe('the history of an endpoint', () => {
  it('[J7] an endpoint without attempts is untried; any worker may have noted a failure', async () => {
    const { breakers } = await start()
    const [dead, other] = [await subscription(), await subscription()]
    expect([breakers.standingOf(dead), breakers.failing()]).toEqual(['untried', []])
    breakers.note(dead, 'timeout')
    breakers.note(other, null)
    breakers.wake()
    await expect.poll(() => breakers.failing()).toEqual([dead])
    expect([breakers.standingOf(dead), breakers.standingOf(other)]).toEqual(['failing', 'answering'])
  })

  it('[J7] an endpoint that has answered keeps its share through one or two failures, and loses it with more until it answers again', async () => {
    const { breakers, statements } = await start()
    const shaky = await subscription()
    const noteAndExchange = async (...outcomes: (string | null)[]) => {
      for (const outcome of outcomes) breakers.note(shaky, outcome)
      statements.length = 0
      breakers.wake()
      // What is noted is written, then read.
      await expect.poll(() => statements.filter((sql) => /^\s*SELECT/.test(sql)).length).toBeGreaterThan(0)
    }
    await noteAndExchange(null)
    await noteAndExchange('timeout', 'timeout')
    await expect.poll(written).toEqual({ [shaky]: 2 })
    expect(breakers.standingOf(shaky)).toBe('answering')
    await noteAndExchange('timeout')
    await expect.poll(() => breakers.standingOf(shaky)).toBe('failing')
    breakers.note(shaky, null, { probe: true })
    expect(breakers.standingOf(shaky)).toBe('answering')
  })

  it('[J7] completed deliveries show that an endpoint answers, and are looked up once', async () => {
    const { breakers, statements } = await start()
    const { subscriptionId: healthy } = await insertDelivery(database.pool, 'Completed')
    const { subscriptionId: retried } = await insertDelivery(database.pool, 'PendingRetry')
    const { subscriptionId: broken } = await insertDelivery(database.pool, 'Completed')
    breakers.note(broken, 'timeout')
    const all = [healthy, retried, broken]
    for (let n = 0; n < 2; n++) await breakers.recall(all)
    expect(all.map(breakers.standingOf)).toEqual(['answering', 'untried', 'failing'])
    expect(statements.filter((sql) => sql.includes('webhook_delivery_sagas'))).toHaveLength(1)
  })
})
