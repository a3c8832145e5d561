import { describe, expect, it } from 'vitest'
import { NonRetryableError, saga } from '../../src/index.js'
import { createSagaTest, type SagaTestDeliveries } from '../../src/testing/index.js'

/** Three steps that can be undone; `did` is what the world has seen. */
function makeShop() {
  const did: string[] = []
  const shop = saga<{ order: number }>('shop', { timeout: '1h', retry: { maxAttempts: 3, jitter: 'none' } })
    .step('reserve', {
      run: ({ input }) => {
        did.push('reserved')
        return { item: input.order }
      },
      compensate: () => void did.push('released'),
    })
    .step('charge', {
      run: () => void did.push('charged'),
      compensate: () => void did.push('refunded'),
      retry: { retryOn: ['timeout', 'busy'] },
    })
    .transaction('ship', { run: () => 'shipped' })
  return { shop, did }
}

describe('the test kit', () => {
  it('[G14] runs a saga to its end, and reports every detail', async () => {
    const { shop, did } = makeShop()
    const run = await createSagaTest({ sagas: [shop] }).run(shop, { order: 7 })
    expect(run).toMatchObject({
      state: 'Completed',
      result: 'shipped',
      outputs: { reserve: { item: 7 }, ship: 'shipped' },
      error: null,
      steps: { reserve: 'Completed', charge: 'Completed', ship: 'Completed' },
      calls: ['reserve', 'charge', 'ship'],
      waitedMs: 0,
    })
    expect(did).toEqual(['reserved', 'charged'])
    expect(run.history[0]).toEqual({
      type: 'saga.started',
      step: undefined,
      oldState: 'Pending',
      newState: 'Running',
      data: null,
    })
    expect(run.writes).toBeGreaterThan(3)
  })

  it('[G14] fails the n-th attempt, and waits by its own clock', async () => {
    const { shop } = makeShop()
    const test = createSagaTest({ sagas: [shop], now: new Date('2031-01-01') })
    test.fail('reserve', new Error('busy'), { attempt: 1 })
    test.fail('reserve', new Error('busy'), { attempt: 2 })
    const run = await test.run(shop, { order: 7 })
    expect(run).toMatchObject({ state: 'Completed', waitedMs: 3_000 })
    expect(run.calls).toEqual(['reserve', 'reserve', 'reserve', 'charge', 'ship'])
    expect(test.now).toEqual(new Date('2031-01-01T00:00:03Z'))
  })

  it('[G14] fails every attempt until all is undone, whether or not the code was called', async () => {
    for (const [when, seen] of [
      ['before', ['reserved', 'refunded', 'released']],
      ['after', ['reserved', 'charged', 'refunded', 'released']],
    ] as const) {
      const { shop, did } = makeShop()
      const test = createSagaTest({ sagas: [shop] })
      test.fail('charge', new NonRetryableError('declined'), { when })
      const run = await test.run(shop, { order: 7 })
      expect(run).toMatchObject({ state: 'Compensated', error: { message: 'declined' }, result: undefined })
      expect(run.calls).toEqual(['reserve', 'charge', 'undo charge', 'undo reserve'])
      expect(did).toEqual(seen)
    }
  })

  it('[G14] times a step out as the coordinator would, before or after it did its work', async () => {
    const { shop, did } = makeShop()
    const test = createSagaTest({ sagas: [shop] })
    test.timeOut('charge', { attempt: 1, when: 'after' })
    test.timeOut('charge', { attempt: 2 })
    expect((await test.run(shop, { order: 7 })).state).toBe('Completed')
    expect(did).toEqual(['reserved', 'charged', 'charged'])

    const strict = saga('strict', { retry: { retryOn: ['busy'] } }).step('call', { run: () => 1 })
    const other = createSagaTest({ sagas: [strict] })
    other.timeOut('call')
    const run = await other.run(strict, undefined)
    expect(run).toMatchObject({ state: 'Compensated', error: { code: 'step_timed_out' }, calls: ['call'] })
  })

  it('[G14] crashes before and after every write, recovers, and completes: no completed step runs again', async () => {
    const { shop } = makeShop()
    const { writes } = await createSagaTest({ sagas: [shop] }).run(shop, { order: 7 })
    for (let write = 1; write <= writes; write++) {
      for (const at of [{ before: write }, { after: write }]) {
        const test = createSagaTest({ sagas: [shop] })
        test.crash(at)
        const run = await test.run(shop, { order: 7 })
        expect([at, run.state, run.result]).toEqual([at, 'Completed', 'shipped'])
        // One step may have been in doubt.
        expect(run.calls.length).toBeLessThanOrEqual(4)
        expect([...new Set(run.calls)]).toEqual(['reserve', 'charge', 'ship'])
        const last = write === writes && 'after' in at
        expect(run.waitedMs).toBe(last ? 0 : 30_000)
      }
    }
  })

  it('[G14] crashes again and again, also while it undoes', async () => {
    const { shop } = makeShop()
    const plain = createSagaTest({ sagas: [shop] })
    plain.fail('ship', new NonRetryableError('no stock'))
    const { writes } = await plain.run(shop, { order: 7 })
    for (let first = 1; first <= writes; first++) {
      const test = createSagaTest({ sagas: [shop] })
      test.fail('ship', new NonRetryableError('no stock'))
      test.crash({ after: first })
      test.crash({ before: first + 2 })
      const run = await test.run(shop, { order: 7 })
      expect(run.state).toBe('Compensated')
      expect(run.steps).toMatchObject({ reserve: 'Compensated', charge: 'Compensated' })
    }
  })

  it('[G14] cancels after any write: the saga ends Cancelled and undone, or was already done', async () => {
    const { shop } = makeShop()
    const { writes } = await createSagaTest({ sagas: [shop] }).run(shop, { order: 7 })
    const ends = new Set<string>()
    for (let write = 1; write <= writes; write++) {
      const test = createSagaTest({ sagas: [shop] })
      test.cancelAfter(write)
      const { state, steps } = await test.run(shop, { order: 7 })
      ends.add(state)
      const left = Object.values(steps).filter((step) => step === 'Completed').length
      // What has no undo stays as it is.
      if (state === 'Cancelled') expect(left).toBeLessThanOrEqual(1)
    }
    expect([...ends].sort()).toEqual(['Cancelled', 'Completed'])
  })

  it('[G14] a step that takes longer than the deadline ends the saga as TimedOut', async () => {
    const late = saga('late', { timeout: '1h' })
      .step('wait', { run: () => test.advance('2h'), compensate: () => {} })
      .step('never', { run: () => 1 })
    const test = createSagaTest({ sagas: [late] })
    const run = await test.run(late, undefined)
    expect(run).toMatchObject({ state: 'TimedOut', calls: ['wait', 'undo wait'] })
  })

  it.each([
    ['retry', 'Compensated', ['undo reserve']],
    ['skip', 'Compensated', []],
    ['resolve', 'Failed', []],
  ] as const)('[G14] an undo that fails waits for an operator: %s', async (action, state, calls) => {
    const { shop } = makeShop()
    const test = createSagaTest({ sagas: [shop] })
    test.fail('charge', new NonRetryableError('declined'))
    test.fail('reserve', new NonRetryableError('stuck'), { of: 'compensate', attempt: 1 })
    const failed = await test.run(shop, { order: 7 })
    expect(failed).toMatchObject({ state: 'Failed', error: { message: 'stuck' } })
    const resolved = await test.resolve(failed.id, { action, why: 'tried' })
    expect(resolved).toMatchObject({ state, calls })
    expect(resolved.history).toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ action, by: 'test', why: 'tried' }) }),
    )
  })

  it('[G14] a key starts one saga', async () => {
    const { shop, did } = makeShop()
    const test = createSagaTest({ sagas: [shop] })
    const first = await test.run(shop, { order: 7 }, { key: 'order-7' })
    const again = await test.run(shop, { order: 7 }, { key: 'order-7' })
    expect([again.id, again.calls]).toEqual([first.id, []])
    expect(did).toEqual(['reserved', 'charged'])
  })

  it('refuses invalid options at once', async () => {
    const { shop } = makeShop()
    const test = createSagaTest({ sagas: [shop] })
    expect(() => test.fail('shipp')).toThrow('no saga of this test has a step "shipp"')
    expect(() => test.advance('soon')).toThrow(TypeError)
    await expect(test.resolve('nobody', { action: 'skip' })).rejects.toMatchObject({ code: 'saga_not_found' })
  })

  it('[G14] simulates the receivers of what a saga delivers, and keeps what it publishes', async () => {
    let counts: SagaTestDeliveries = { deadLettered: 1, open: 1 }
    const told = saga<number>('told', { publish: true }).deliver('tell', {
      event: ({ input }) => ({ type: 'order.placed', payload: { order: input } }),
      onDeadLetter: 'wait',
    })
    const test = createSagaTest({ sagas: [told], deliveries: () => counts })
    const waiting = await test.run(told, 7)
    expect(waiting).toMatchObject({ state: 'Running', steps: { tell: 'Running' } })
    counts = { completed: 1 }
    const done = await test.resume(waiting.id)
    expect(done).toMatchObject({ state: 'Completed', outputs: { tell: { deliveries: 1 } } })
    expect(test.published.map(({ type }) => type)).toEqual([
      ...['saga.started', 'saga.step.started', 'order.placed', 'saga.step.completed', 'saga.completed'],
    ])
    expect(test.published[2]).toMatchObject({ sagaId: done.id, payload: { order: 7 } })
  })

  it('[G14] publishes once, wherever the process dies', async () => {
    const told = saga('told', { publish: true }).deliver('tell', {
      event: () => ({ type: 'order.placed', payload: 1 }),
    })
    const { writes } = await createSagaTest({ sagas: [told] }).run(told, undefined)
    for (let write = 1; write <= writes; write++) {
      for (const at of [{ before: write }, { after: write }]) {
        const test = createSagaTest({ sagas: [told] })
        test.crash(at)
        expect((await test.run(told, undefined)).state).toBe('Completed')
        expect(test.published.map(({ type }) => type)).toEqual([
          ...['saga.started', 'saga.step.started', 'order.placed', 'saga.step.completed', 'saga.completed'],
        ])
      }
    }
  })
})

describe('the test kit, with sagas that wait and branch', () => {
  const inner = saga<number>('inner').step('double', { run: ({ input }) => input * 2, compensate: () => {} })
  const outer = saga<{ order: string }>('outer')
    .waitFor('paid', { signal: 'paid', key: ({ input }) => input.order, timeout: '3d' })
    .sleep('rest', { for: '1h', when: ({ outputs }) => !outputs.paid.timedOut })
    .child('twice', { saga: inner, input: () => 4 })
    .parallel({ left: { run: () => 'l' }, right: { run: () => 'r' } })
    .step('last', { run: ({ outputs }) => `${outputs.left}${outputs.right}` })

  it('[G14] stops where a saga waits, sends signals, and advances the clock over sleeps and time-outs', async () => {
    const kit = createSagaTest({ sagas: [outer] })
    const waiting = await kit.run(outer, { order: '7' }, { until: 'paid' })
    expect(waiting).toMatchObject({ state: 'Running', steps: { paid: 'Running' }, waitedMs: 0 })
    await kit.signal({ name: 'paid', key: '7', payload: 1 })
    const run = await kit.resume(waiting.id)
    expect(run).toMatchObject({
      state: 'Completed',
      result: 'lr',
      outputs: { paid: { timedOut: false, payload: 1 }, twice: 8 },
      calls: ['double', 'left', 'right', 'last'],
      waitedMs: 3_600_000,
    })
    const late = await kit.run(outer, { order: '8' })
    expect(late).toMatchObject({ state: 'Completed', steps: { rest: 'Skipped' }, waitedMs: 3 * 86_400_000 })
  })

  it('[G14] a crash at any write, or a fault in a branch or a child, ends as it must', async () => {
    const early = async (kit: ReturnType<typeof createSagaTest>) => {
      await kit.signal({ name: 'paid', key: '7' })
      return kit.run(outer, { order: '7' })
    }
    const { writes } = await early(createSagaTest({ sagas: [outer] }))
    for (let write = 1; write <= writes; write++) {
      for (const at of [{ before: write }, { after: write }]) {
        const kit = createSagaTest({ sagas: [outer] })
        kit.crash(at)
        expect([at, (await early(kit)).state]).toEqual([at, 'Completed'])
      }
    }
    for (const step of ['left', 'double']) {
      const kit = createSagaTest({ sagas: [outer] })
      kit.fail(step)
      const run = await early(kit)
      expect(run.state).toBe('Compensated')
      if (step === 'left') expect(run.calls).toContain('undo double')
    }
  })
})
