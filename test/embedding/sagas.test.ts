import { beforeAll, describe, expect, it } from 'vitest'
import { saga } from '../../src/index.js'
import { useDatabase } from '../support/database.js'
import { useInstances } from './use-instances.js'

const database = useDatabase()
const { embed } = useInstances()
const once = { maxAttempts: 1 } as const

beforeAll(() => database.pool.query('CREATE TABLE public.bookings (item text)'))

const rolesOf = async (application: string) => {
  const { rows } = await database.pool.query(
    `SELECT DISTINCT application_name AS name FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE $1`,
    [application],
  )
  return rows.map(({ name }) => name)
}

const shop = saga<{ sku: string }>('shop')
  .step('reserve', { run: ({ input }) => ({ item: input.sku.toUpperCase() }) })
  .transaction('book', {
    run: async ({ tx, outputs }) => {
      await tx.query('INSERT INTO bookings VALUES ($1)', [outputs.reserve.item])
      return 'booked'
    },
  })

const bookings = async () =>
  (await database.pool.query('SELECT item FROM bookings')).rows.map(({ item }) => item)

describe('sagas inside an application', () => {
  it('[G14, G12] run under saga_app_role, transaction steps under the login with its own search path', async () => {
    const instance = embed({
      databaseUrl: database.url,
      parts: ['sagas'],
      sagas: [shop],
      masterKey: undefined,
    })
    await instance.start()
    const handle = await instance.sagas.start(shop, { sku: 'a-7' }, { key: 'order-7', metadata: { shop: 1 } })
    expect(handle.created).toBe(true)
    expect(await handle.result()).toEqual({
      state: 'Completed',
      result: 'booked',
      outputs: { reserve: { item: 'A-7' }, book: 'booked' },
      error: null,
    })
    expect(await bookings()).toContain('A-7')
    expect(await rolesOf('%saga_app_role%')).toEqual(['sagapost saga_app_role'])
    expect(await rolesOf('%saga transactions%')).toEqual(['sagapost saga transactions'])

    const again = await instance.sagas.start(shop, { sku: 'a-7' }, { key: 'order-7' })
    expect([again.id, again.created]).toEqual([handle.id, false])
    expect((await again.result()).state).toBe('Completed')
    await expect(instance.sagas.start(shop, { sku: 'b' }, { key: 'order-7' })).rejects.toMatchObject({
      code: 'idempotency_conflict',
    })
  })

  it('[G14] are started by one process and run by another', async () => {
    const web = embed({ databaseUrl: database.url, parts: [] })
    const runner = embed({ databaseUrl: database.url, parts: ['sagas'], sagas: [shop] })
    const handle = await web.sagas.start(shop, { sku: 'far' })
    const ended = handle.result()
    await runner.start()
    expect(await ended).toMatchObject({ state: 'Completed', outputs: { reserve: { item: 'FAR' } } })
  })

  it('[G14] start with the transaction of the caller, or not at all', async () => {
    const instance = embed({ databaseUrl: database.url, parts: ['sagas'], sagas: [shop] })
    await instance.start()
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      const lost = await instance.sagas.startIn(client, shop, { sku: 'lost' })
      await client.query('ROLLBACK')
      expect(await instance.sagas.get(lost.id)).toBeNull()
      await expect(lost.result()).rejects.toMatchObject({ code: 'saga_not_found' })
      await client.query('BEGIN')
      const kept = await instance.sagas.startIn(client, shop, { sku: 'kept' })
      await client.query('COMMIT')
      instance.wake()
      expect(await kept.result()).toMatchObject({ state: 'Completed' })
    } finally {
      client.release()
    }
    expect(await bookings()).toContain('KEPT')
    expect(await bookings()).not.toContain('LOST')
  })

  it('[G14, G17] are read, listed and cancelled, with the operator and the reason recorded', async () => {
    const slow = saga('slow').step('wait', {
      run: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      compensate: () => {},
    })
    const instance = embed({ databaseUrl: database.url, parts: ['sagas'], sagas: [slow] })
    await instance.start()
    const traceId = 'a'.repeat(32)
    const handle = await instance.sagas.start(slow, undefined, { traceId })
    const running = async () => (await instance.sagas.get(handle.id))?.steps[0]?.state
    await expect.poll(running).toBe('Running')
    const found = await instance.sagas.list({ traceId })
    expect(found).toMatchObject({ data: [{ id: handle.id, definition: 'slow', state: 'Running' }] })

    expect(await handle.cancel({ by: 'ann', why: 'no longer wanted' })).toBe('requested')
    expect(await handle.result()).toMatchObject({ state: 'Cancelled', error: { code: 'saga_cancelled' } })
    expect(await handle.cancel({ by: 'ann', why: 'again' })).toBe('too_late')
    const whole = await instance.sagas.get(handle.id)
    expect(whole?.events.map(({ sequence }) => sequence)).toEqual(whole?.events.map((_, index) => index + 1))
    expect(whole?.events).toContainEqual(
      expect.objectContaining({ data: { action: 'cancel', by: 'ann', why: 'no longer wanted' } }),
    )
    for (const id of ['nobody', 'a\0b', '', 'é']) {
      expect(await instance.sagas.get(id)).toBeNull()
      const asked = instance.sagas.cancel(id, { by: 'ann', why: 'x' })
      await expect(asked).rejects.toMatchObject({ code: 'saga_not_found' })
    }
  })

  it('[G14] that cannot be undone wait for an operator, who resolves them', async () => {
    const stuck = saga('stuck', { retry: once })
      .step('charge', { run: () => 1, compensate: () => Promise.reject(new Error('the bank is closed')) })
      .step('ship', { run: () => Promise.reject(new Error('no stock')) })
    const instance = embed({ databaseUrl: database.url, parts: ['sagas'], sagas: [stuck] })
    await instance.start()
    const handle = await instance.sagas.start(stuck, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Failed', outputs: { charge: 1 } })
    const waiting = await instance.sagas.list({ awaitingOperator: true })
    expect(waiting.data.map(({ id }) => id)).toEqual([handle.id])
    await expect(
      instance.sagas.resolve(handle.id, { action: 'skip', by: '', why: 'x' }),
    ).rejects.toMatchObject({ code: 'saga_resolution_invalid' })
    await instance.sagas.resolve(handle.id, { action: 'skip', by: 'ann', why: 'paid back by hand' })
    const state = async () => (await instance.sagas.get(handle.id))?.state
    await expect.poll(state).toBe('Compensated')
    expect((await instance.sagas.list({ awaitingOperator: true })).data).toEqual([])
    expect(await instance.sagas.cleanUp(new Date(Date.now() - 3_600_000))).toBe(0)
    expect(await instance.sagas.cleanUp(new Date(Date.now() + 3_600_000))).toBeGreaterThan(0)
    expect(await instance.sagas.get(handle.id)).toBeNull()
  })

  it('[G15] keep their data encrypted with a key, and are read with it only', async () => {
    const sagaDataKey = Buffer.alloc(32, 9).toString('base64')
    const secret = saga<{ card: string }>('secret').step('charge', {
      run: ({ input }) => `paid ${input.card}`,
    })
    const instance = embed({ databaseUrl: database.url, parts: ['sagas'], sagas: [secret], sagaDataKey })
    await instance.start()
    const handle = await instance.sagas.start(secret, { card: '4111' })
    expect(await handle.result()).toMatchObject({ result: 'paid 4111', outputs: { charge: 'paid 4111' } })
    expect(await instance.sagas.get(handle.id)).toMatchObject({ input: { card: '4111' } })
    const blind = embed({ databaseUrl: database.url, parts: [] })
    expect(await blind.sagas.get(handle.id)).toMatchObject({
      input: { $sagapost_sealed: expect.any(String) },
      result: { $sagapost_sealed: expect.any(String) },
    })
  })

  it('[G14] have a lease and a limit of their own, as the options say', async () => {
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    const slow = saga('slow').step('only', { run: () => opened })
    const instance = embed({
      databaseUrl: database.url,
      parts: ['sagas'],
      sagas: [slow],
      sagaLeaseDuration: '1h',
      sagaConcurrency: 2,
    })
    await instance.start()
    const handles = await Promise.all([1, 2, 3].map(() => instance.sagas.start(slow, undefined)))
    const { rows } = await database.pool.query(
      `SELECT extract(epoch FROM lease_until - updated_at)::int AS lease_s FROM sagapost.saga_instances
       WHERE definition_id = 'slow' ORDER BY lease_until NULLS LAST`,
    )
    expect(rows).toEqual([{ lease_s: 3_600 }, { lease_s: 3_600 }, { lease_s: null }])
    open()
    for (const handle of handles) expect((await handle.result()).state).toBe('Completed')
  })

  it('[G14] are released when the instance stops, and callers that wait for one are notified', async () => {
    const endless = saga('endless').step('wait', {
      run: ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    const web = embed({ databaseUrl: database.url, parts: [] })
    const handle = await web.sagas.start(endless, undefined)
    const waited = handle.result()
    await Promise.all([expect(waited).rejects.toMatchObject({ code: 'instance_stopped' }), web.stop()])
    await expect(web.sagas.get(handle.id)).rejects.toMatchObject({ code: 'instance_stopped' })
  })

  it('[O5] are counted and logged: started, finished, retried, undone, stuck and recovered', async () => {
    const lines: string[] = []
    const write = (level: string) => (fields: Record<string, unknown>, message: string) => {
      if (fields['saga_id'])
        lines.push(`${level} ${message}: ${fields['definition']} ${fields['state'] ?? ''}`.trim())
    }
    const log = { error: write('error'), warn: write('warn'), info: write('info'), debug: () => {} }
    let failures = 1
    const flaky = saga('flaky', { retry: { initialInterval: '1ms' } }).step('call', {
      run: () => (failures-- > 0 ? Promise.reject(new Error('busy')) : 1),
    })
    const undone = saga('undone', { retry: once })
      .step('reserve', { run: () => 1, compensate: () => {} })
      .transaction('book', { run: ({ tx }) => tx.query('SELECT 1 / 0') })
    const stuck = saga('stuck', { retry: once })
      .step('charge', { run: () => 1, compensate: () => Promise.reject(new Error('closed')) })
      .step('ship', { run: () => Promise.reject(new Error('no stock')) })
    const sagas = [flaky, undone, stuck, shop]
    const instance = embed({ databaseUrl: database.url, parts: ['sagas'], sagas, log })
    const lost = await instance.sagas.start(shop, { sku: 'lost' })
    await database.pool.query(
      `UPDATE sagapost.saga_instances SET lease_owner = 'gone', lease_until = sagapost.now() WHERE id = $1`,
      [lost.id],
    )
    await instance.start()
    expect((await lost.result()).state).toBe('Completed')
    await (await instance.sagas.start(flaky, undefined)).result()
    await (await instance.sagas.start(undone, undefined)).result()
    await (await instance.sagas.start(stuck, undefined)).result()
    const client = await database.pool.connect()
    await client.query('BEGIN')
    const within = await instance.sagas.startIn(client, shop, { sku: 'within' })
    await client.query('COMMIT')
    client.release()
    await within.result()
    // Whoever waits for the end may hear of it before it is logged and counted.
    await expect
      .poll(() => lines)
      .toEqual([
        'warn saga taken over: the lease of its coordinator expired: shop',
        'info saga finished: shop Completed',
        'info saga finished: flaky Completed',
        'info saga finished: undone Compensated',
        'warn saga waits for an operator: an undo failed for good: stuck Failed',
        'info saga finished: shop Completed',
      ])
    const text = await instance.metrics()
    const value = (series: string) =>
      Number(
        text
          .split('\n')
          .find((line) => line.startsWith(`${series} `))
          ?.split(' ')[1],
      )
    expect(value('sagapost_sagas_started_total')).toBe(5)
    expect(value('sagapost_sagas_finished_total{state="Completed"}')).toBe(3)
    expect(value('sagapost_sagas_finished_total{state="Compensated"}')).toBe(1)
    expect(value('sagapost_sagas_finished_total{state="Failed"}')).toBe(1)
    expect(value('sagapost_saga_retries_total')).toBe(1)
    expect(value('sagapost_sagas_recovered_total')).toBe(1)
    expect(value('sagapost_saga_step_duration_seconds_count{outcome="completed"}')).toBe(7)
    expect(value('sagapost_saga_step_duration_seconds_count{outcome="failed"}')).toBe(3)
    expect(value('sagapost_saga_compensation_duration_seconds_count{outcome="completed"}')).toBe(1)
    expect(value('sagapost_saga_compensation_duration_seconds_count{outcome="failed"}')).toBe(1)
    expect(value('sagapost_backlog{stage="sagas_stuck"}')).toBe(1)
  })
})
