import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type SagaDefinition, saga, sendSignal, startSaga } from '../../../src/sagas/index.js'
import { NonRetryableError } from '../../../src/sagas/saga-error.js'
import { expectHistoryToReplay } from '../history.js'
import { storages } from '../storages.js'
import { useCoordinators } from '../use-coordinators.js'

const unique = (name: string) => `${name}-${randomUUID().slice(0, 8)}`

/** Of the SagapostError that it fails with. */
const codeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: { code?: unknown }) => error.code,
  )

/** Lists in lists, of the given depth. */
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))

describe.each(Object.keys(storages))('on %s', (which) => {
  const under = (storages[which] as (typeof storages)[string])()
  const { coordinate } = useCoordinators(under)

  const asleep = (id: string) =>
    expect
      .poll(async () => {
        const [step] = await under.storage.listSteps(id)
        return step?.state === 'Running' && (await under.storage.getSaga(id))?.leaseOwner === null
      })
      .toBe(true)

  it.each<[string, () => number]>([
    ['more than a number counts', () => 1e300],
    ['more than PostgreSQL counts', () => Number.MAX_SAFE_INTEGER],
    ['longer than years of four digits', () => 9_000 * 366 * 86_400_000],
    ['not a number', () => Number.NaN],
  ])('[G14] a sleep that is %s fails its step for good', async (_, time) => {
    const nap = saga(unique('long')).sleep('rest', { for: time })
    const handle = await coordinate([nap]).start(nap, undefined)
    expect(await handle.result()).toMatchObject({
      state: 'Compensated',
      error: { code: 'step_function_failed' },
    })
    await expectHistoryToReplay(under.storage, handle.id)
  })

  it('[G14] a sleep until the end of time fails its step; one until before the beginning does not sleep', async () => {
    const nap = saga<{ at: string }>(unique('until')).sleep('rest', { until: ({ input }) => input.at })
    const coordinator = coordinate([nap])
    for (const at of [new Date(8.64e15).toISOString(), '+010000-01-01T00:00:00.000Z']) {
      const handle = await coordinator.start(nap, { at })
      expect((await handle.result()).state).toBe('Compensated')
    }
    for (const at of [
      new Date(-8.64e15).toISOString(),
      '0000-01-01T00:00:00.000Z',
      '-000044-03-15T12:00:00Z',
    ]) {
      const handle = await coordinator.start(nap, { at })
      expect((await handle.result()).state).toBe('Completed')
    }
    const handle = await coordinator.start(nap, { at: '2125-01-01T00:00:00.000Z' })
    await asleep(handle.id)
  })

  it('[G14] a payload that was accepted is read, however deep it is', async () => {
    const paid = saga<{ key: string }>(unique('deep')).waitFor('news', {
      signal: 'deep',
      key: ({ input }) => input.key,
    })
    const coordinator = coordinate([paid])
    let accepted = 0
    for (const depth of [498, 499, 500, 501, 1_000, 20_000]) {
      const key = randomUUID()
      if (
        (await codeOf(sendSignal(under.storage, { name: 'deep', key, payload: nested(depth) }))) !== undefined
      ) {
        continue
      }
      accepted++
      const handle = await coordinator.start(paid, { key })
      expect([depth, (await handle.result()).state]).toEqual([depth, 'Completed'])
    }
    expect(accepted).toBeGreaterThan(0)
  })

  it('[G15] data that looks encrypted is refused, wherever it comes from', async () => {
    const sealed = { $sagapost_sealed: 'AAAA' }
    const later = { longer_than_the_name_before: 1, $sagapost_sealed: 'AAAA' }
    const echo = saga<object>(unique('echo')).step('say', { run: () => sealed })
    for (const value of [sealed, later]) {
      const signal = { name: 'sealed', key: randomUUID(), payload: value }
      expect(await codeOf(sendSignal(under.storage, signal))).toBe('signal_invalid')
      expect(await codeOf(startSaga(under.storage, echo, value))).toBe('saga_input_invalid')
    }
    const handle = await coordinate([echo]).start(echo, { inside: sealed })
    expect(await handle.result()).toMatchObject({ state: 'Compensated', error: { code: 'output_invalid' } })
  })

  it('[G14] a key of the longest characters finds its saga', async () => {
    const paid = saga<{ key: string }>(unique('wide')).waitFor('news', {
      signal: 'n'.repeat(100),
      key: ({ input }) => input.key,
    })
    const coordinator = coordinate([paid])
    for (const key of ['\u{1f4a5}'.repeat(127), '\uffff'.repeat(255), `%_\\'":\n\u202e${randomUUID()}`]) {
      const handle = await coordinator.start(paid, { key })
      await asleep(handle.id)
      await coordinator.signal({ name: 'n'.repeat(100), key, payload: key })
      expect((await handle.result()).result).toEqual({ timedOut: false, payload: key })
    }
  })

  it('[G5, G14] an error is recorded through parents of parents, as far as its causes are kept', async () => {
    const causes = (left: number): Error =>
      new Error(`cause ${left}`, left > 0 ? { cause: causes(left - 1) } : {})
    let definition: SagaDefinition = saga(unique('leaf')).step('fail', {
      run: () => {
        throw new NonRetryableError('never', { cause: causes(20) })
      },
    })
    for (let level = 0; level < 30; level++) {
      definition = saga(unique(`level-${level}`)).child('inner', {
        saga: definition as never,
        input: () => undefined,
      })
    }
    const coordinator = coordinate([definition])
    const handle = await coordinator.start(definition as never, undefined as never)
    await expect
      .poll(async () => (await under.storage.getSaga(handle.id))?.state, { timeout: 60_000 })
      .toBe('Compensated')
    expect((await under.storage.getSaga(handle.id))?.error).toMatchObject({ code: 'child_failed' })
  })
})

describe('what only SQL can send', () => {
  const under = (storages['postgres'] as (typeof storages)[string])()
  const { coordinate } = useCoordinators(under)

  it.each([
    ['U+0000', '"a\\u0000b"'],
    ['half of a surrogate pair', '"\\ud800"'],
    ['a name that JavaScript knows', '{"__proto__": {"admin": true}}'],
    ['a number beyond all', '[1e400, -1e400, 1e-400]'],
    ['many levels', `${'['.repeat(3_000)}${']'.repeat(3_000)}`],
  ])('[G14] a payload with %s ends the wait, with an outcome or a failure', async (_, payload) => {
    const paid = saga<{ key: string }>(unique('sql')).waitFor('news', {
      signal: 'sql',
      key: ({ input }) => input.key,
    })
    const key = randomUUID()
    await under.pool?.query(`SELECT sagapost.signal('sql', $1, $2::json)`, [key, payload])
    const handle = await coordinate([paid]).start(paid, { key })
    const { state, error } = await handle.result()
    expect(['Completed', 'Compensated']).toContain(state)
    if (state === 'Compensated') expect(error?.code).toBe('signal_invalid')
    await expectHistoryToReplay(under.storage, handle.id)
  })

  it('[O7] a name, a key or a payload that does not fit is refused, and nothing is stored', async () => {
    for (const [name, key, payload] of [
      ['a:b', 'k', null],
      ['', 'k', null],
      ['n'.repeat(101), 'k', null],
      ['n', '', null],
      ['n', 'k'.repeat(256), null],
      ['n', null, null],
      [null, 'k', null],
      ['n', 'k', JSON.stringify('x'.repeat(98_304))],
    ]) {
      await expect(
        under.pool?.query('SELECT sagapost.signal($1, $2, $3::json)', [name, key, payload]),
      ).rejects.toThrow()
    }
    const { rows } = (await under.pool?.query('SELECT FROM sagapost.saga_wakeups')) ?? {}
    expect(rows).toEqual([])
  })
})
