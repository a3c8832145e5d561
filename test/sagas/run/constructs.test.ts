import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createMemoryStorage, saga } from '../../../src/sagas/index.js'
import { NonRetryableError } from '../../../src/sagas/saga-error.js'
import { type CommandedCoordinator, createCommandedCoordinator } from '../commanded-coordinator.js'
import { expectHistoryToReplay, historyOf } from '../history.js'
import { storages } from '../storages.js'

const retry = { maxAttempts: 2, backoff: 'fixed', initialInterval: '1ms', jitter: 'none' } as const
const unique = (name: string) => `${name}-${randomUUID().slice(0, 8)}`

describe.each(Object.keys(storages))('waiting and branching sagas on %s', (which) => {
  const under = (storages[which] as (typeof storages)[string])()
  const coordinators: CommandedCoordinator[] = []
  const run = (definitions: Parameters<typeof createCommandedCoordinator>[0]['definitions']) => {
    const coordinator = createCommandedCoordinator({
      storage: under.storage,
      definitions,
      onError: (error) => console.error(error),
      pollMs: 10,
      abortGraceMs: 20,
    })
    coordinators.push(coordinator)
    return coordinator
  }
  const stopAll = async () => {
    await Promise.all(coordinators.splice(0).map((each) => each.stop({ timeoutMs: 0 })))
  }
  const waits = async (id: string, name: string) => {
    await expect
      .poll(async () => {
        const stored = await under.storage.getSaga(id)
        const step = (await under.storage.listSteps(id)).find((each) => each.name === name)
        return stored?.leaseOwner === null && (step?.state === 'Running' || step?.state === 'Compensating')
      })
      .toBe(true)
  }
  const settle = async (id: string) => {
    await expectHistoryToReplay(under.storage, id)
    await stopAll()
  }
  const stateOf = async (id: string) => (await under.storage.getSaga(id))?.state
  const statesOf = async (id: string) => (await under.storage.listSteps(id)).map(({ state }) => state)

  it('[G14] sleeps without a lease, and continues when the time has come', async () => {
    const nap = saga(unique('nap'))
      .sleep('rest', { for: '1h' })
      .step('rise', { run: () => 'up' })
    const coordinator = run([nap])
    const handle = await coordinator.start(nap, undefined)
    await waits(handle.id, 'rest')
    const asleep = await under.storage.getSaga(handle.id)
    expect(asleep).toMatchObject({ state: 'Running', leaseOwner: null, leaseUntil: null })
    const slept = Number(asleep?.wakeAt) - Number(asleep?.updatedAt)
    expect(slept).toBe(3_600_000)
    await under.moveMs(3_540_000)
    coordinator.wake()
    expect(await stateOf(handle.id)).toBe('Running')
    await under.moveMs(60_001)
    coordinator.wake()
    expect(await handle.result()).toMatchObject({ state: 'Completed', result: 'up' })
    // Its start, the intent with the release, one write for its end and the next intent, and the end.
    expect(await historyOf(under.storage, handle.id)).toEqual([
      ...['saga.started', 'saga.step.started 0', 'saga.step.completed 0'],
      ...['saga.step.started 1', 'saga.step.completed 1', 'saga.completed'],
    ])
    await settle(handle.id)
  })

  it('[G14] sleeps until a time from its outputs; a time in the past is no sleep', async () => {
    const nap = saga<{ at: string }>(unique('until'))
      .step('plan', { run: ({ input }) => ({ at: input.at }) })
      .sleep('rest', { until: ({ outputs }) => new Date(outputs.plan.at) })
      .step('rise', { run: () => 'up' })
    const coordinator = run([nap])
    const past = await coordinator.start(nap, { at: '2001-01-01T00:00:00Z' })
    expect((await past.result()).state).toBe('Completed')
    const at = '2199-01-01T00:00:00.000Z'
    const future = await coordinator.start(nap, { at })
    await waits(future.id, 'rest')
    expect((await under.storage.getSaga(future.id))?.wakeAt?.toISOString()).toBe(at)
    const bad = await coordinator.start(nap, { at: 'tomorrow' })
    expect(await bad.result()).toMatchObject({
      state: 'Compensated',
      error: { code: 'step_function_failed' },
    })
    await settle(bad.id)
  })

  it('[G14] waits for a signal, which is kept when it arrives early, and reads its payload', async () => {
    const paid = saga<{ order: string }>(unique('paid'))
      .waitFor('payment', {
        signal: 'payment.received',
        key: ({ input }) => input.order,
        schema: z.object({ cents: z.number() }),
        timeout: '1d',
      })
      .step('ship', {
        run: ({ outputs: { payment } }) => (payment.timedOut ? 'never' : payment.payload.cents),
      })
    const coordinator = run([paid])
    const [early, late] = [randomUUID(), randomUUID()]
    await coordinator.signal({ name: 'payment.received', key: early, payload: { cents: 5 } })
    const first = await coordinator.start(paid, { order: early })
    expect(await first.result()).toMatchObject({ state: 'Completed', result: 5 })
    const second = await coordinator.start(paid, { order: late })
    await waits(second.id, 'payment')
    await coordinator.signal({ name: 'payment.received', key: late, payload: { cents: 6 } })
    expect(await second.result()).toMatchObject({ state: 'Completed', result: 6 })
    await expectHistoryToReplay(under.storage, first.id)
    await settle(second.id)
  })

  it('[G14] a wait that times out without its signal is an outcome; a payload that does not fit is a failure', async () => {
    const paid = saga<{ order: string }>(unique('timed'))
      .waitFor('payment', {
        signal: 'payment.received',
        key: ({ input }) => input.order,
        schema: z.object({ cents: z.number() }),
        timeout: '1d',
      })
      .step('ship', { run: ({ outputs }) => outputs.payment.timedOut })
    const coordinator = run([paid])
    const bad = randomUUID()
    await coordinator.signal({ name: 'payment.received', key: bad, payload: { cents: 'many' } })
    const refused = await coordinator.start(paid, { order: bad })
    expect(await refused.result()).toMatchObject({ state: 'Compensated', error: { code: 'signal_invalid' } })
    const never = await coordinator.start(paid, { order: randomUUID() })
    await waits(never.id, 'payment')
    await under.moveMs(86_400_001)
    coordinator.wake()
    expect(await never.result()).toMatchObject({ state: 'Completed', result: true })
    await expectHistoryToReplay(under.storage, refused.id)
    await settle(never.id)
  })

  it('[G14] past the pivot a payload that does not fit waits for an operator, who may skip it', async () => {
    const key = randomUUID()
    const paid = saga(unique('past'))
      .step('ship', { run: () => 1 })
      .pivot()
      .waitFor('payment', { signal: 'past', key: () => key, schema: z.number(), timeout: '1h' })
      .step('last', { run: ({ outputs }) => outputs.payment ?? 'without' })
    const coordinator = run([paid])
    await coordinator.signal({ name: 'past', key, payload: 'many' })
    const { id } = await coordinator.start(paid, undefined)
    await expect
      .poll(() => under.storage.getSaga(id))
      .toMatchObject({ state: 'Running', awaitingOperator: true, leaseOwner: null, wakeAt: null })
    expect((await under.storage.listSteps(id))[1]).toMatchObject({
      ...{ state: 'Running', attempts: 1, error: { code: 'signal_invalid' } },
    })
    await coordinator.resolve(id, { action: 'skip', by: 'ann', why: 'paid by hand' })
    await expect
      .poll(() => under.storage.getSaga(id))
      .toMatchObject({ state: 'Completed', result: 'without' })
    expect(await statesOf(id)).toEqual(['Completed', 'Skipped', 'Completed'])
    await settle(id)
  })

  it('[G14] a signal that arrived in time counts, though no coordinator looked before the time-out', async () => {
    const paid = saga<{ order: string }>(unique('both'))
      .waitFor('payment', { signal: 'both', key: ({ input }) => input.order, timeout: '1d' })
      .step('ship', { run: ({ outputs }) => outputs.payment.timedOut })
    const order = randomUUID()
    const handle = await run([paid]).start(paid, { order })
    await waits(handle.id, 'payment')
    await stopAll()
    await under.moveMs(86_400_001)
    await under.storage.signal({ name: 'both', key: order, payload: undefined })
    const again = run([paid])
    await expect.poll(() => stateOf(handle.id)).toBe('Completed')
    expect((await under.storage.getSaga(handle.id))?.result).toBe(false)
    again.wake()
    await settle(handle.id)
  })

  it.each(['sleep', 'signal', 'saga'] as const)(
    '[G14] cancelled while it waits (%s), it undoes',
    async (kind) => {
      const undone: string[] = []
      const inner = saga(unique('inner'))
        .step('one', { run: () => 1, compensate: () => void undone.push('inner') })
        .sleep('rest', { for: '1h' })
      const base = saga(unique('cancelled'), { retry }).step('first', {
        run: () => 1,
        compensate: () => void undone.push('first'),
      })
      const last = { run: () => 1 }
      const definition =
        kind === 'sleep'
          ? base.sleep('wait', { for: '1h' }).step('last', last)
          : kind === 'signal'
            ? base.waitFor('wait', { signal: 'never', key: () => 'k' }).step('last', last)
            : base.child('wait', { saga: inner, input: () => undefined }).step('last', last)
      const coordinator = run([definition])
      const handle = await coordinator.start(definition, undefined)
      await waits(handle.id, 'wait')
      if (kind === 'saga') {
        const [child] = await under.storage.listSagas({ definitionId: inner.name })
        await waits(child?.id ?? '', 'rest')
      }
      await coordinator.cancel(handle.id, { by: 'test', reason: 'enough' })
      expect((await handle.result()).state).toBe('Cancelled')
      expect(undone).toEqual(kind === 'saga' ? ['inner', 'first'] : ['first'])
      const second = kind === 'saga' ? 'Compensated' : 'Failed'
      expect(await statesOf(handle.id)).toEqual(['Compensated', second, 'Skipped'])
      await settle(handle.id)
    },
  )

  it('[G14] overdue while it waits for a signal without a limit, it undoes', async () => {
    const slow = saga(unique('overdue'), { timeout: '1h' })
      .waitFor('wait', { signal: 'never', key: () => 'k' })
      .step('last', { run: () => 1 })
    const coordinator = run([slow])
    const handle = await coordinator.start(slow, undefined)
    await waits(handle.id, 'wait')
    const { wakeAt, deadlineAt } = (await under.storage.getSaga(handle.id)) ?? {}
    expect(wakeAt).toEqual(deadlineAt)
    await under.moveMs(3_600_001)
    coordinator.wake()
    expect((await handle.result()).state).toBe('TimedOut')
    await settle(handle.id)
  })

  it('[G14] a step whose condition is false is Skipped, at any position', async () => {
    const calls: string[] = []
    const note = (name: string) => {
      calls.push(name)
      return name
    }
    const picky = saga<{ first: boolean; last: boolean }>(unique('picky'))
      .step('first', { when: ({ input }) => input.first, run: () => void calls.push('first') })
      .step('middle', { run: () => note('middle') })
      .step('last', {
        when: ({ input, outputs }) => input.last && outputs.middle === 'middle',
        run: () => note('last'),
      })
    const only = saga(unique('only')).step('one', { when: () => false, run: () => void calls.push('one') })
    const broken = saga(unique('broken')).step('one', {
      when: () => {
        throw new Error('no idea')
      },
      run: () => void calls.push('one'),
    })
    const coordinator = run([picky, only, broken])
    const neither = await coordinator.start(picky, { first: false, last: false })
    expect(await neither.result()).toMatchObject({ state: 'Completed' })
    expect(await statesOf(neither.id)).toEqual(['Skipped', 'Completed', 'Skipped'])
    const both = await coordinator.start(picky, { first: true, last: true })
    expect(await both.result()).toMatchObject({ state: 'Completed', result: 'last' })
    expect(calls).toEqual(['middle', 'first', 'middle', 'last'])
    const none = await coordinator.start(only, undefined)
    expect((await none.result()).state).toBe('Completed')
    expect(await statesOf(none.id)).toEqual(['Skipped'])
    const failed = await coordinator.start(broken, undefined)
    expect(await failed.result()).toMatchObject({ state: 'Compensated', error: { message: 'no idea' } })
    expect(calls).toHaveLength(4)
    for (const { id } of [neither, both, none]) await expectHistoryToReplay(under.storage, id)
    await settle(failed.id)
  })

  it('[G14] a branch is retried though its timer fires early: timers count whole milliseconds', async () => {
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const wide = saga(unique('hasty')).parallel({
      patient: { run: () => gate },
      hasty: {
        retry: { ...retry, maxAttempts: 60 },
        run: ({ attempt }) => {
          if (attempt < 60) throw new Error('not yet')
          open()
        },
      },
    })
    const coordinator = run([wide])
    const handle = await coordinator.start(wide, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Completed' })
    await settle(handle.id)
  })

  it('[G14] a branch that was begun alone, while others wait for a retry, is stopped when one fails for good', async () => {
    const tries = { slow: 0, broken: 0 }
    const wide = saga(unique('alone'), { retry }).parallel({
      slow: {
        run: ({ signal }) => {
          if (tries.slow++ === 0) throw new Error('not yet')
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        },
      },
      broken: {
        retry: { ...retry, initialInterval: '300ms' },
        run: () => {
          if (tries.broken++ === 0) throw new Error('not yet')
          throw new NonRetryableError('never')
        },
      },
    })
    const handle = await run([wide]).start(wide, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Compensated', error: { message: 'never' } })
    expect(tries).toEqual({ slow: 2, broken: 2 })
    expect((await under.storage.listSteps(handle.id)).map(({ error }) => error?.code)).toEqual([
      'branch_stopped',
      'non_retryable',
    ])
    await settle(handle.id)
  })

  it('[G14] branches run at the same time, with retries of their own, and later steps have their outputs', async () => {
    let tries = 0
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const wide = saga(unique('wide'), { retry })
      .step('first', { run: () => 1 })
      .parallel({
        slow: {
          run: async () => {
            await gate
            return 'slow'
          },
        },
        flaky: {
          run: ({ outputs }) => {
            if (tries++ === 0) throw new Error('not yet')
            open()
            return outputs.first + 1
          },
        },
      })
      .step('last', { run: ({ outputs: { slow, flaky } }) => `${slow}${flaky}` })
    const coordinator = run([wide])
    const handle = await coordinator.start(wide, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Completed', result: 'slow2' })
    expect(tries).toBe(2)
    await settle(handle.id)
  })

  it('[G14] when a branch fails for good the others are stopped, and all are undone together', async () => {
    const undone: string[] = []
    const wide = saga(unique('torn'), { retry })
      .step('first', { run: () => 1, compensate: () => void undone.push('first') })
      .parallel({
        done: { run: () => 'd', compensate: ({ output }) => void undone.push(`done ${output}`) },
        long: {
          run: ({ signal }) =>
            new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
          compensate: ({ output }) => void undone.push(`long ${output}`),
        },
        bad: {
          run: () => {
            throw new NonRetryableError('never')
          },
          compensate: ({ output }) => void undone.push(`bad ${output}`),
        },
      })
      .step('last', { run: () => 1 })
    const coordinator = run([wide])
    const handle = await coordinator.start(wide, undefined)
    expect((await handle.result()).state).toBe('Compensated')
    expect(undone.slice(0, 3).sort()).toEqual(['bad undefined', 'done d', 'long undefined'])
    expect(undone[3]).toBe('first')
    await settle(handle.id)
  })

  it('[G14] past its pivot a saga is only retried: neither failure, cancel nor deadline undoes it', async () => {
    const undone: string[] = []
    let works = false
    const bold = saga(unique('bold'), { timeout: '1h', retry: { ...retry, maxInterval: '1ms' } })
      .step('first', { run: () => 1, compensate: () => void undone.push('first') })
      .pivot()
      .step('after', {
        run: () => {
          if (!works) throw new NonRetryableError('never')
          return 'at last'
        },
      })
    const coordinator = run([bold])
    const handle = await coordinator.start(bold, undefined)
    await expect.poll(async () => (await under.storage.listSteps(handle.id))[1]?.attempts).toBeGreaterThan(4)
    expect(await coordinator.cancel(handle.id, { by: 'test', reason: 'enough' })).toBe('too_late')
    await under.moveMs(3_600_001)
    expect(await under.storage.findTimedOut(10)).toEqual([])
    const before = (await under.storage.listSteps(handle.id))[1]?.attempts ?? 0
    await expect
      .poll(async () => (await under.storage.listSteps(handle.id))[1]?.attempts)
      .toBeGreaterThan(before + 2)
    works = true
    expect(await handle.result()).toMatchObject({ state: 'Completed', result: 'at last' })
    expect(undone).toEqual([])
    await settle(handle.id)
  })

  it('[G14] before its pivot a saga is undone as usual', async () => {
    const undone: string[] = []
    const bold = saga(unique('meek'), { retry })
      .step('first', { run: () => 1, compensate: () => void undone.push('first') })
      .step('second', {
        run: () => {
          throw new NonRetryableError('never')
        },
      })
      .pivot()
      .step('after', { run: () => 1 })
    const handle = await run([bold]).start(bold, undefined)
    expect((await handle.result()).state).toBe('Compensated')
    expect(undone).toEqual(['first'])
    await settle(handle.id)
  })

  it('[G14] a child gives its result, and is completed with its parent', async () => {
    const inner = saga<number>(unique('inner')).step('double', { run: ({ input }) => input * 2 })
    const outer = saga<number>(unique('outer'))
      .child('twice', { saga: inner, input: ({ input }) => input + 1 })
      .waitFor('go', { signal: 'go', key: ({ sagaId }) => sagaId })
      .step('last', { run: ({ outputs }) => outputs.twice })
    const coordinator = run([outer])
    const handle = await coordinator.start(outer, 4)
    await waits(handle.id, 'go')
    const [child] = await under.storage.listSagas({ definitionId: inner.name })
    // It has done its part, and can still be undone.
    expect(child).toMatchObject({ state: 'Running', parentId: handle.id, leaseOwner: null, wakeAt: null })
    expect(child?.traceId).toBe((await under.storage.getSaga(handle.id))?.traceId)
    expect(await under.storage.requestCancel(child?.id ?? '', { by: 'x', reason: 'y' })).toBe('too_late')
    await coordinator.signal({ name: 'go', key: handle.id })
    expect(await handle.result()).toMatchObject({ state: 'Completed', result: 10 })
    await expect.poll(() => stateOf(child?.id ?? '')).toBe('Completed')
    await expectHistoryToReplay(under.storage, child?.id ?? '')
    await settle(handle.id)
  })

  it('[G14] children are undone with their parent: those that are done, those that run, and theirs', async () => {
    const undone: string[] = []
    const leaf = saga(unique('leaf')).step('leaf', {
      run: () => 1,
      compensate: () => void undone.push('leaf'),
    })
    const inner = saga(unique('inner'))
      .step('a', { run: () => 1, compensate: () => void undone.push('a') })
      .child('leaf', { saga: leaf, input: () => undefined })
    const outer = saga(unique('outer'), { retry })
      .step('first', { run: () => 1, compensate: () => void undone.push('first') })
      .child('inner', { saga: inner, input: () => undefined })
      .step('bad', {
        run: () => {
          throw new NonRetryableError('never')
        },
      })
    const handle = await run([outer]).start(outer, undefined)
    expect((await handle.result()).state).toBe('Compensated')
    expect(undone).toEqual(['leaf', 'a', 'first'])
    for (const { name } of [inner, leaf]) {
      const [child] = await under.storage.listSagas({ definitionId: name })
      expect(child?.state).toBe('Cancelled')
      await expectHistoryToReplay(under.storage, child?.id ?? '')
    }
    await settle(handle.id)
  })

  it('[G14] a child that fails fails its step, which may start another one', async () => {
    let tries = 0
    const inner = saga(unique('inner'), { retry: { maxAttempts: 1 } }).step('one', {
      run: () => {
        if (tries++ === 0) throw new Error('not yet')
        return 'done'
      },
    })
    const outer = saga(unique('outer'), { retry }).child('inner', {
      saga: inner,
      input: () => undefined,
      retry,
    })
    const coordinator = run([outer])
    const handle = await coordinator.start(outer, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Completed', result: 'done' })
    const children = await under.storage.listSagas({ definitionId: inner.name })
    expect(children.map(({ state }) => state).sort()).toEqual(['Compensated', expect.any(String)])
    tries = -9
    await settle(handle.id)
  })

  it('[G14] a child past its pivot cannot be undone: an operator has to resolve its parent', async () => {
    const inner = saga(unique('inner'))
      .step('one', { run: () => 1 })
      .pivot()
      .step('two', { run: () => 2 })
    const outer = saga(unique('outer'), { retry })
      .child('inner', { saga: inner, input: () => undefined })
      .step('bad', {
        run: () => {
          throw new NonRetryableError('never')
        },
      })
    const coordinator = run([outer])
    const handle = await coordinator.start(outer, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Failed', error: { code: 'child_not_undone' } })
    await coordinator.resolve(handle.id, { action: 'resolve', by: 'ann', why: 'it may stay' })
    const [child] = await under.storage.listSagas({ definitionId: inner.name })
    await expect.poll(() => stateOf(child?.id ?? '')).toBe('Completed')
    await settle(handle.id)
  })
})

it('[G13] everything that one write in memory stores has one time, though the clock moves meanwhile', async () => {
  let ticks = Date.now()
  const storage = createMemoryStorage({ now: () => ticks++ })
  const nap = saga(unique('ticks')).sleep('rest', { for: '1h' })
  const coordinator = createCommandedCoordinator({ storage, definitions: [nap], onError: () => {} })
  const { id } = await coordinator.start(nap, undefined)
  await expect.poll(async () => (await storage.getSaga(id))?.leaseOwner).toBeNull()
  const { wakeAt, updatedAt } = (await storage.getSaga(id)) ?? {}
  expect(Number(wakeAt) - Number(updatedAt)).toBe(3_600_000)
  const events = await storage.listEvents(id)
  expect(events.map(({ timestamp }) => timestamp)).toEqual([updatedAt, updatedAt])
  await coordinator.stop()
})
