import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { SagapostError } from '../../../src/errors/index.js'
import { type SagaDefinition, type SagaRecord, type StateStorage, saga } from '../../../src/sagas/index.js'
import { createDefinitionSlots } from '../../../src/sagas/run/definition-slots.js'
import { NonRetryableError } from '../../../src/sagas/saga-error.js'
import { expectHistoryToReplay, historyOf } from '../history.js'
import { type StorageUnderTest, storages } from '../storages.js'
import { useCoordinators } from '../use-coordinators.js'

const Order = z.object({ id: z.string() })
const fast = { backoff: 'fixed', initialInterval: '1ms', jitter: 'none' } as const

describe.each(Object.entries(storages))('the coordinator on %s', (_, use) => {
  const under: StorageUnderTest = use()
  const { coordinate, errors } = useCoordinators(under)

  it('[G14, G6] runs the steps in order, once each, and completes', async () => {
    const calls: string[] = []
    const checkout = saga('checkout', { input: Order, timeout: '10m' })
      .step('reserve', {
        run: ({ input, idempotencyKey, attempt }) => {
          calls.push(`reserve ${input.id} ${idempotencyKey.split(':')[1]} ${attempt}`)
          return { at: new Date(0), seat: 7 }
        },
      })
      .step('charge', {
        run: ({ outputs }) => {
          calls.push(`charge ${outputs.reserve.seat} ${outputs.reserve.at}`)
        },
      })
      .step('ship', {
        run: ({ outputs }) => ({ seat: outputs.reserve.seat, charge: outputs.charge ?? 'none' }),
      })
    const handle = await coordinate([checkout]).start(checkout, { id: 'o-1' })
    const done = await handle.result()
    expect(done).toMatchObject({ state: 'Completed', currentStep: 3, error: null, leaseOwner: null })
    expect(done.result).toEqual({ seat: 7, charge: 'none' })
    expect(done).toEqual(await under.storage.getSaga(handle.id))
    expect(calls).toEqual(['reserve o-1 reserve 1', 'charge 7 1970-01-01T00:00:00.000Z'])
    expect(await historyOf(under.storage, handle.id)).toEqual([
      'saga.started',
      'saga.step.started 0',
      'saga.step.completed 0',
      'saga.step.started 1',
      'saga.step.completed 1',
      'saga.step.started 2',
      'saga.step.completed 2',
      'saga.completed',
    ])
    await expectHistoryToReplay(under.storage, handle.id)
  })

  it('[G14, G6] undoes the finished steps in reverse order when a step fails for good, the failed one first', async () => {
    const undone: string[] = []
    const failing = saga('failing', { retry: { ...fast, maxAttempts: 3 } })
      .step('one', { run: () => 'first', compensate: ({ output }) => void undone.push(`one ${output}`) })
      .step('two', { run: () => 'second' })
      .step('three', {
        run: () => {
          throw new TypeError('no stock')
        },
        compensate: ({ output }) => void undone.push(`three ${output}`),
      })
      .step('four', { run: () => 4 })
    const handle = await coordinate([failing]).start(failing, undefined)
    const done = await handle.result()
    expect(done).toMatchObject({ state: 'Compensated', awaitingOperator: false })
    expect(done.error).toMatchObject({ code: 'TypeError', message: 'no stock', retryable: true })
    expect(undone).toEqual(['three undefined', 'one first'])
    const steps = await under.storage.listSteps(handle.id)
    expect(steps.map(({ state, attempts }) => `${state} ${attempts}`)).toEqual([
      'Compensated 1',
      'Completed 1',
      'Compensated 3',
      'Skipped 0',
    ])
    const history = await historyOf(under.storage, handle.id)
    expect(history.slice(history.indexOf('saga.step.failed 2'))).toEqual([
      'saga.step.failed 2',
      'retry.attempted 2',
      'saga.step.started 2',
      'saga.step.failed 2',
      'retry.attempted 2',
      'saga.step.started 2',
      'saga.step.failed 2',
      'retry.exhausted 2',
      'compensation.started',
      'state.changed 3',
      'compensation.step.started 2',
      'compensation.step.completed 2',
      'compensation.step.started 0',
      'compensation.step.completed 0',
      'compensation.completed',
    ])
    await expectHistoryToReplay(under.storage, handle.id)
  })

  it.each([
    ['a NonRetryableError', () => new NonRetryableError('declined', { code: 'declined' }), undefined, 1],
    ['an error that retryOn does not name', () => new RangeError('x'), ['network'], 1],
    ['one that it names', () => Object.assign(new Error('x'), { code: 'network' }), ['network'], 2],
  ] as const)('[G14] retries by policy: %s', async (name, error, retryOn, attempts) => {
    const definition = saga(`policy-${name.replaceAll(' ', '-')}`, {
      retry: { ...fast, maxAttempts: 2, ...(retryOn ? { retryOn } : {}) },
    }).step('only', { run: () => Promise.reject(error()) })
    const handle = await coordinate([definition]).start(definition, undefined)
    expect((await handle.result()).state).toBe('Compensated')
    expect((await under.storage.listSteps(handle.id))[0]).toMatchObject({ attempts, state: 'Failed' })
    await expectHistoryToReplay(under.storage, handle.id)
  })

  it('[G14] aborts a step whose time is up, and abandons a step that ignores the signal', async () => {
    const signals: boolean[] = []
    const slow = saga('slow', { retry: { ...fast, maxAttempts: 2 } })
      .step('polite', {
        timeout: '20ms',
        run: ({ signal, attempt }) =>
          attempt > 1 ||
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => reject(signals.push(signal.aborted)))
          }),
      })
      .step('deaf', { timeout: '20ms', run: () => new Promise(() => {}) })
    const handle = await coordinate([slow]).start(slow, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Compensated', error: { code: 'step_timed_out' } })
    expect(signals).toEqual([true])
  })

  it('[G14] times out at its deadline: the running step is aborted, all is undone, and the state is TimedOut', async () => {
    const undone: string[] = []
    const late = saga('late', { timeout: '1h' })
      .step('done', { run: () => 1, compensate: ({ output }) => void undone.push(`done ${output}`) })
      .step('stuck', {
        run: ({ signal }) =>
          new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        compensate: ({ output }) => void undone.push(`stuck ${output}`),
      })
    const handle = await coordinate([late], { leaseMs: 10 * 3_600_000 }).start(late, undefined)
    await expect.poll(async () => (await under.storage.listSteps(handle.id))[1]?.state).toBe('Running')
    await under.moveMs(3_600_001)
    expect((await under.storage.findTimedOut(10)).map(({ id }) => id)).toContain(handle.id)
    const done = await handle.result()
    expect(done).toMatchObject({ state: 'TimedOut', error: { code: 'saga_timed_out' } })
    expect((await under.storage.getSaga(handle.id))?.timedOutAt).toBeInstanceOf(Date)
    expect(undone).toEqual(['stuck undefined', 'done 1'])
    expect((await historyOf(under.storage, handle.id)).slice(-2)).toEqual([
      'compensation.completed',
      'saga.timed_out',
    ])
    await expectHistoryToReplay(under.storage, handle.id)
  })

  it('[G14] a saga that is not claimed before its deadline is timed out without having begun', async () => {
    const idle = saga('idle', { timeout: '1h' }).step('never', { run: () => 1 })
    const starter = coordinate([])
    const handle = await starter.start(idle, undefined)
    await under.moveMs(3_600_001)
    coordinate([idle])
    expect(await handle.result()).toMatchObject({ state: 'TimedOut', startedAt: null })
    expect((await under.storage.listSteps(handle.id))[0]?.state).toBe('Skipped')
    await expectHistoryToReplay(under.storage, handle.id)
  })

  it('[G14] starting again with a key gives the same saga; with another input it is refused', async () => {
    const keyed = saga('keyed', { input: Order }).step('only', { run: () => 1 })
    const coordinator = coordinate([keyed])
    const first = await coordinator.start(keyed, { id: 'a' }, { key: 'k-1' })
    const again = await coordinator.start(keyed, { id: 'a' }, { key: 'k-1' })
    expect([first.created, again.created, again.id]).toEqual([true, false, first.id])
    const refusal = await coordinator
      .start(keyed, { id: 'b' }, { key: 'k-1' })
      .catch((error: SagapostError) => error)
    expect(refusal).toMatchObject({ code: 'idempotency_conflict' })
    await Promise.all([first.result(), again.result()])
  })

  it.each([
    ['input that does not fit', { id: 7 as unknown as string }],
    ['text that the database refuses', { id: 'a\0b' }],
    ['half a surrogate pair', { id: '\ud800' }],
  ])('[G14] refuses %s, and nothing is stored', async (_, input) => {
    const strict = saga(`strict-${input.id.length}`, { input: Order }).step('only', { run: () => 1 })
    const refusal = await coordinate([strict])
      .start(strict, input)
      .catch((error: SagapostError) => error)
    expect(refusal).toMatchObject({ code: 'saga_input_invalid' })
    expect(await under.storage.listSagas({ definitionId: strict.name })).toEqual([])
  })

  it.each<[string, unknown]>([
    ['a BigInt', { n: 1n }],
    [
      'a circle',
      (() => {
        const circle: Record<string, unknown> = {}
        circle['self'] = circle
        return circle
      })(),
    ],
    [
      'a toJSON that throws',
      {
        toJSON() {
          throw new Error('no')
        },
      },
    ],
    ['a NUL', { text: '\0' }],
    ['a list', [1]],
    ['a text', 'text'],
    ['more than is kept', { text: 'x'.repeat(2 ** 20) }],
  ])(
    '[G14] refuses metadata that is or has %s; starts at the same time are not touched',
    async (_, metadata) => {
      const noted = saga('noted').step('only', { run: () => 1 })
      const coordinator = coordinate([noted])
      const [good, bad] = await Promise.allSettled([
        coordinator.start(noted, undefined, { metadata: { order: 7 } }),
        coordinator.start(noted, undefined, { metadata: metadata as Record<string, unknown> }),
      ])
      expect(bad).toMatchObject({ status: 'rejected', reason: { code: 'saga_input_invalid' } })
      if (good?.status !== 'fulfilled') throw new Error('the good one was spoiled')
      expect(await good.value.result()).toMatchObject({ state: 'Completed', metadata: { order: 7 } })
    },
  )

  it.each(['', 'a\0b', '\udc00', 'x'.repeat(256)])('[G14] refuses the key %j', async (key) => {
    const keyed = saga('keyed-badly').step('only', { run: () => 1 })
    const refusal = await coordinate([keyed])
      .start(keyed, undefined, { key })
      .catch((error: SagapostError) => error)
    expect(refusal).toMatchObject({ code: 'idempotency_key_invalid' })
  })

  it.each<[string, unknown, string]>([
    ['an object without a prototype', Object.create(null), 'something was thrown that cannot be shown'],
    [
      'names that are no text',
      Object.assign(new Error('x'), { name: 7, message: {}, stack: [] }),
      '7: [object Object]',
    ],
    [
      'getters that throw',
      {
        get code() {
          throw new Error('a')
        },
        get name() {
          throw new Error('b')
        },
        get message() {
          throw new Error('c')
        },
        toString() {
          throw new Error('d')
        },
      },
      'something was thrown that cannot be shown',
    ],
    ['nothing', undefined, 'undefined'],
    ['a symbol', Symbol('odd'), 'Symbol(odd)'],
  ])('[G14] a step may throw %s', async (name, thrown, message) => {
    const odd = saga(`throws-${name.replaceAll(' ', '-')}`, {
      retry: { ...fast, maxAttempts: 2, retryOn: ['never'] },
    }).step('only', { run: () => Promise.reject(thrown) })
    const handle = await coordinate([odd]).start(odd, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Compensated', error: { message } })
  })

  it.each(['step_timed_out', 'timeout'])(
    '[G5, G14] retryOn: [%j] retries a step that timed out',
    async (word) => {
      const slow = saga(`slow-${word}`, { retry: { ...fast, maxAttempts: 2, retryOn: [word] } }).step(
        'only',
        {
          timeout: '10ms',
          run: ({ attempt }) => (attempt === 1 ? new Promise(() => {}) : 'second'),
        },
      )
      const handle = await coordinate([slow]).start(slow, undefined)
      expect(await handle.result()).toMatchObject({ state: 'Completed', result: 'second' })
    },
  )

  it.each([
    ['a function', (): unknown => () => 1],
    ['a BigInt', (): unknown => 1n],
    ['a NUL', (): unknown => ({ text: '\0' })],
    [
      'a circle',
      (): unknown => {
        const circle: Record<string, unknown> = {}
        circle['self'] = circle
        return circle
      },
    ],
  ] as const)('[G14] a step that returns %s fails for good', async (name, output) => {
    const odd = saga(`odd-${name.replaceAll(' ', '-')}`).step('only', { run: (): unknown => output() })
    const handle = await coordinate([odd]).start(odd, undefined)
    expect(await handle.result()).toMatchObject({ state: 'Compensated', error: { code: 'output_invalid' } })
  })

  it('[G14] a process that lacks the version leaves the saga for one that has it', async () => {
    const define = (version: number) => saga('versioned', { version }).step('only', { run: () => version })
    const [one, two] = [define(1), define(2)]
    const handle = await coordinate([two]).start(one, undefined)
    const other = await coordinate([two]).start(two, undefined)
    expect((await other.result()).result).toBe(2)
    expect((await under.storage.getSaga(handle.id))?.state).toBe('Pending')
    coordinate([one, two])
    expect((await handle.result()).result).toBe(1)
  })

  it('[G14] runs no more of a definition at once than its limit', async () => {
    let [now, most] = [0, 0]
    const narrow = saga('narrow', { concurrency: 2 }).step('only', {
      run: async () => {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setTimeout(resolve, 5))
        now--
      },
    })
    const coordinator = coordinate([narrow])
    const handles = await Promise.all(Array.from({ length: 8 }, () => coordinator.start(narrow, undefined)))
    const done = await Promise.all(handles.map((handle) => handle.result()))
    expect(done.every(({ state }) => state === 'Completed')).toBe(true)
    expect(most).toBe(2)
  })

  it('[G14] a saga for which there was no room is claimed as soon as there is some, not at the next poll', async () => {
    const single = saga('single').step('only', { run: () => 1 })
    const coordinator = coordinate([single], { concurrency: 1, pollMs: 300_000, leaseMs: 3_600_000 })
    const handles = await Promise.all([1, 2, 3].map(() => coordinator.start(single, undefined)))
    const done = await Promise.all(handles.slice(0, 1).map((handle) => handle.result()))
    expect(done[0]?.state).toBe('Completed')
    await expect
      .poll(async () =>
        (await Promise.all(handles.map(({ id }) => under.storage.getSaga(id)))).map((each) => each?.state),
      )
      .toEqual(['Completed', 'Completed', 'Completed'])
  })

  it('[G14] stops gracefully: the running step is finished, the rest is left for another coordinator', async () => {
    const calls: string[] = []
    let finish = () => {}
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    const long = saga('long')
      .step('one', {
        run: async () => {
          calls.push('one')
          await gate
        },
      })
      .step('two', { run: () => void calls.push('two') })
    const first = coordinate([long])
    const handle = await first.start(long, undefined)
    await expect.poll(() => calls).toEqual(['one'])
    const stopped = first.stop()
    finish()
    await stopped
    expect(await under.storage.getSaga(handle.id)).toMatchObject({ state: 'StepCompleted', leaseOwner: null })
    coordinate([long])
    await expect.poll(async () => (await under.storage.getSaga(handle.id))?.state).toBe('Completed')
    expect(calls).toEqual(['one', 'two'])
    await expectHistoryToReplay(under.storage, handle.id)
  })

  it('[G14] gives back at once the sagas of a claim that was answered after the stop', async () => {
    const calls: string[] = []
    const late = saga('late').step('only', { run: () => void calls.push('only') })
    let answer = () => {}
    const gate = new Promise<void>((resolve) => {
      answer = resolve
    })
    let claims = 0
    const first = coordinate([late], {
      abortGraceMs: 5_000,
      storage: {
        ...under.storage,
        claim: async (request) => {
          const claimed = await under.storage.claim(request)
          if (claimed.length > 0) {
            claims += 1
            await gate
          }
          return claimed
        },
      },
    })
    const handle = await coordinate([]).start(late, undefined)
    await expect.poll(() => claims).toBe(1)
    const stopped = first.stop()
    // Nothing runs, so by now it waits for nothing but this answer.
    await new Promise((resolve) => setImmediate(resolve))
    answer()
    await stopped
    expect(await under.storage.getSaga(handle.id)).toMatchObject({ state: 'Pending', leaseOwner: null })
    expect(calls).toEqual([])
  })

  it('[G14] a saga with other steps than its definition is left alone, and reported', async () => {
    const before = saga('changed').step('old', { run: () => 1 })
    const after = saga('changed').step('new', { run: () => 2 })
    const handle = await coordinate([]).start(before, undefined)
    coordinate([after])
    await expect
      .poll(() => errors.splice(0).map(({ message }) => message))
      .toEqual([expect.stringContaining('needs a new version')])
    // It is said before it is let go.
    await expect
      .poll(() => under.storage.getSaga(handle.id))
      .toMatchObject({ state: 'Pending', leaseOwner: null })
  })

  it.each(['overdue', 'cancelled'])('[G14] a saga that fits no definition waits, be it %s', async (why) => {
    const before = saga(`unfit-${why}`, { timeout: '1h' })
      .step('old', { run: () => 1 })
      .sleep('rest', { for: '2h' })
    const after = saga(`unfit-${why}`).step('new', { run: () => 2 })
    const starter = coordinate([])
    const first = coordinate([before])
    const { id } = await starter.start(before, undefined)
    await expect
      .poll(() => under.storage.getSaga(id))
      .toMatchObject({ state: 'Running', currentStep: 1, leaseOwner: null })
    await first.stop()
    if (why === 'cancelled') await starter.cancel(id, { by: 'me', reason: 'test' })
    else await under.moveMs(3_600_001)
    coordinate([after])
    await expect.poll(() => errors.splice(0).length).toBe(1)
    await expect.poll(async () => (await under.storage.getSaga(id))?.leaseOwner).toBeNull()
    const { wakeAt, updatedAt } = (await under.storage.getSaga(id)) as SagaRecord
    expect(Number(wakeAt) - Number(updatedAt)).toBeGreaterThan(50_000)
  })

  it('[G14] waiting for a saga that was deleted is rejected', async () => {
    const forgetful = coordinate([], {
      storage: { ...under.storage, getSaga: async () => undefined, readStates: async () => new Map() },
    })
    const handle = await forgetful.start(saga('removed').step('only', { run: () => 1 }), undefined)
    expect(await handle.result().catch((error: SagapostError) => error.code)).toBe('saga_not_found')
  })

  it('[G14] reads the ends of all awaited sagas with one query', async () => {
    let reads = 0
    const storage = {
      ...under.storage,
      getSaga: (id: string) => {
        reads++
        return under.storage.getSaga(id)
      },
    }
    const away = saga('away').step('only', { run: () => 1 })
    const coordinator = coordinate([], { storage })
    const handles = await Promise.all(Array.from({ length: 20 }, () => coordinator.start(away, undefined)))
    const ends = handles.map((handle) => handle.result())
    await expect.poll(() => reads).toBe(20)
    coordinate([away])
    for (const end of ends) expect((await end).state).toBe('Completed')
    expect(reads).toBe(40)
  })

  it('[G14] a run whose lease cannot be renewed is stopped when it has expired by our own clock', async () => {
    const heard: unknown[] = []
    const cutOff = {
      ...under.storage,
      renew: () => new Promise<never>(() => {}),
      readSignals: () => new Promise<never>(() => {}),
    }
    const lonely = saga('lonely').step('only', {
      run: ({ signal }) =>
        new Promise((_, reject) =>
          signal.addEventListener('abort', () => reject(heard.push(signal.reason.why))),
        ),
    })
    const coordinator = coordinate([lonely], { storage: cutOff, leaseMs: 300, onError: () => {} })
    const { id } = await coordinator.start(lonely, undefined)
    await expect.poll(() => heard[0]).toBe('lost')
    await coordinator.stop({ timeoutMs: 0 })
    expect(id).toBeDefined()
  })

  it('[G14] a renewal without an answer is repeated while the lease still lasts', async () => {
    // A machine that stood still may have lost the short one: then once more with a long one.
    const short = await loseARenewal(1_500)
    const isKept = short.attempts === 1 && short.told.length === 1
    const { told, ...run } = isKept ? short : await loseARenewal(15_000)
    expect(run).toEqual({ state: 'Completed', result: false, attempts: 1 })
    expect(told).toEqual([expect.stringMatching(/^leases were not renewed within (500|5000) ms$/)])
  })

  async function loseARenewal(leaseMs: number) {
    let asked = 0
    let askedTwice = () => {}
    const twice = new Promise<void>((resolve) => {
      askedTwice = resolve
    })
    const forgetful: StateStorage = {
      ...under.storage,
      renew(...args) {
        if (++asked === 1) return new Promise<never>(() => {})
        return under.storage.renew(...args).finally(askedTwice)
      },
    }
    const patient = saga(`patient-${leaseMs}`).step('only', {
      run: async ({ signal }) => {
        await twice
        return signal.aborted
      },
    })
    const told: string[] = []
    const coordinator = coordinate([patient], {
      storage: forgetful,
      leaseMs,
      onError: ({ message }) => told.push(message),
    })
    const handle = await coordinator.start(patient, undefined)
    const { state, result } = await handle.result()
    const [step] = await under.storage.listSteps(handle.id)
    return { state, result, attempts: step?.attempts, told }
  }

  it('[G14] keeps the limit of a definition also while a claim is under way', async () => {
    const single = saga('single-file', { concurrency: 1 }).step('only', { run: () => gate })
    let open = () => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    let letClaim: (() => void) | undefined
    const slow = {
      ...under.storage,
      claim: async (request: Parameters<StateStorage['claim']>[0]) => {
        await new Promise<void>((resolve) => {
          letClaim = resolve
        })
        return under.storage.claim(request)
      },
    }
    const waiting = await coordinate([]).start(single, undefined)
    const coordinator = coordinate([single], { storage: slow })
    await expect.poll(() => letClaim).toBeDefined()
    const second = await coordinator.start(single, undefined)
    expect(coordinator.running).toBe(0)
    letClaim?.()
    await expect.poll(() => coordinator.running).toBe(1)
    open()
    const pump = setInterval(() => letClaim?.(), 5)
    await Promise.all([waiting.result(), second.result()])
    await coordinator.stop({ timeoutMs: 0 }).finally(() => clearInterval(pump))
  })

  it('[G14] definitions take turns: none starves another', async () => {
    const asked: string[] = []
    const [first, second] = ['first', 'second'].map((name) =>
      saga(`turn-${name}`).step('only', { run: () => 1 }),
    )
    const counting = {
      ...under.storage,
      lookAhead: async () => ({ news: true, dueInMs: 0 }),
      claim: (request: Parameters<StateStorage['claim']>[0]) => {
        asked.push(request.definitions[0]?.name ?? '')
        return under.storage.claim(request)
      },
    }
    coordinate([first as SagaDefinition, second as SagaDefinition], { storage: counting })
    await expect.poll(() => new Set(asked)).toEqual(new Set(['turn-first', 'turn-second']))
  })

  it('[G14] claims no more a second than the rate of a definition', () => {
    let nowMs = 0
    const limited = saga('limited', { ratePerSecond: 2 }).step('only', { run: () => 1 })
    const slots = createDefinitionSlots([limited], 64, () => nowMs)
    const takeAll = () => {
      const { request, settle } = slots.wanted()
      settle()
      for (let taken = 0; taken < request.limit; taken++) {
        slots.take(limited)
        slots.give(limited)
      }
      return request.limit
    }
    const perHalfSecond = [0, 0, 500, 500, 500, 10_000].map((ms) => {
      nowMs += ms
      return takeAll()
    })
    expect(perHalfSecond).toEqual([2, 0, 1, 1, 1, 2])
  })

  it('[G14] stop waits for a start that is under way, and nothing is launched afterwards', async () => {
    let letStart = () => {}
    const held = new Promise<void>((resolve) => {
      letStart = resolve
    })
    const slow = {
      ...under.storage,
      startSagas: async (sagas: Parameters<StateStorage['startSagas']>[0]) => {
        await held
        return under.storage.startSagas(sagas)
      },
    }
    const calls: string[] = []
    const late = saga('late-start')
      .step('one', { run: () => void calls.push('one') })
      .step('two', { run: () => void calls.push('two') })
    const coordinator = coordinate([late], { storage: slow })
    const starting = coordinator.start(late, undefined)
    const stopped = coordinator.stop()
    letStart()
    await stopped
    const { id } = await starting
    expect(coordinator.running).toBe(0)
    expect(calls).toEqual(['one'])
    expect(await under.storage.getSaga(id)).toMatchObject({ leaseOwner: null })
  })

  it('[G14] a start that is answered after stop has given up on it is released, not launched', async () => {
    let letStart = () => {}
    const held = new Promise<void>((resolve) => {
      letStart = resolve
    })
    const slow: StateStorage = {
      ...under.storage,
      async startSagas(sagas) {
        if (sagas.some(({ definitionId }) => definitionId === 'too-late')) await held
        return under.storage.startSagas(sagas)
      },
    }
    const calls: string[] = []
    const late = saga('too-late').step('one', { run: () => void calls.push('late') })
    // Steps are aborted once starts are waited for no longer; this one keeps stop busy until the start is answered.
    let starting: Promise<{ id: string }> | undefined
    const running = saga('aborted').step('one', {
      run: ({ signal }) =>
        new Promise((_, reject) => {
          calls.push('running')
          signal.addEventListener('abort', () => {
            letStart()
            void starting?.then(() => reject(signal.reason))
          })
        }),
    })
    const coordinator = coordinate([late, running], { storage: slow, abortGraceMs: 30_000 })
    await coordinator.start(running, undefined)
    await expect.poll(() => calls).toEqual(['running'])
    starting = coordinator.start(late, undefined)
    await coordinator.stop({ timeoutMs: 0 })
    const { id } = await starting
    expect([coordinator.running, calls]).toEqual([0, ['running']])
    expect(await under.storage.getSaga(id)).toMatchObject({ leaseOwner: null })
  })

  it('[G14] a run that is slow to end delays no other saga of its claim', async () => {
    let letEnd = () => {}
    const ending = new Promise<void>((resolve) => {
      letEnd = resolve
    })
    const calls: string[] = []
    const own = saga('slow-to-end').step('only', {
      run: ({ attempt }) => {
        calls.push(`begins ${attempt}`)
        return attempt > 1 ? 'done' : ending
      },
    })
    const other = saga('claimed-with-it').step('only', { run: () => 'other' })
    // It does not care for its signal, and is left only after an hour.
    const coordinator = coordinate([own, other], { leaseMs: 60_000, abortGraceMs: 3_600_000 })
    const handle = await coordinator.start(own, undefined)
    await expect.poll(() => calls).toEqual(['begins 1'])
    const elsewhere = await coordinate([]).start(other, undefined)
    await under.moveMs(60_001)
    coordinator.wake()
    await expect.poll(async () => (await under.storage.getSaga(elsewhere.id))?.state).toBe('Completed')
    letEnd()
    expect(await handle.result()).toMatchObject({ state: 'Completed', result: 'done' })
    expect(calls).toEqual(['begins 1', 'begins 2'])
  })

  it('[G14] reclaims a saga from itself only after the run that lost its lease has ended', async () => {
    const calls: string[] = []
    const own = saga('own').step('only', {
      run: ({ signal, attempt }) => {
        calls.push(`begins ${attempt}`)
        if (attempt > 1) return 'done'
        return new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            calls.push('is stopped')
            reject(signal.reason)
          })
        })
      },
    })
    const coordinator = coordinate([own], { leaseMs: 60_000 })
    const handle = await coordinator.start(own, undefined)
    await expect.poll(() => calls).toEqual(['begins 1'])
    await under.moveMs(60_001)
    expect(await handle.result()).toMatchObject({ state: 'Completed', result: 'done' })
    expect(calls).toEqual(['begins 1', 'is stopped', 'begins 2'])
    await expect.poll(() => coordinator.running).toBe(0)
    await expectHistoryToReplay(under.storage, handle.id)
  })
})
