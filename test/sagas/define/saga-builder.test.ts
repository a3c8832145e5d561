import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import type { SagapostError } from '../../../src/errors/index.js'
import { saga } from '../../../src/sagas/define/saga.js'

const Order = z.object({ id: z.string(), total: z.number().default(0), placedAt: z.coerce.date() })

describe('a definition', () => {
  it('[G14] has typed input, and outputs that accumulate from step to step', () => {
    const checkout = saga('checkout', { version: 2, input: Order, timeout: '10m' })
      .step('reserve', {
        run: async ({ input, outputs }) => {
          expectTypeOf(input).toEqualTypeOf<{ id: string; total: number; placedAt: string }>()
          expectTypeOf(outputs).toEqualTypeOf<Record<never, never>>()
          return { reservation: input.id, at: new Date() }
        },
        compensate: ({ output }) => {
          expectTypeOf(output).toEqualTypeOf<{ reservation: string; at: string } | undefined>()
        },
      })
      .transaction('ledger', {
        run: ({ tx, outputs }) => {
          expectTypeOf(outputs.reserve.at).toEqualTypeOf<string>()
          expectTypeOf(tx).toHaveProperty('query')
          return 7
        },
      })
      .step('ship', {
        run: ({ outputs }) => {
          expectTypeOf(outputs.ledger).toEqualTypeOf<number>()
          // @ts-expect-error a step that has not run yet has no output
          outputs.ship
        },
      })
    expect(checkout).toMatchObject({ name: 'checkout', version: 2, timeoutMs: 600_000 })
    expect(checkout.steps.map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'reserve step',
      'ledger transaction',
      'ship step',
    ])
  })

  it('[G14] has branches on conditions, each with a name of its own', () => {
    const wide = saga<{ gift: boolean }>('wide')
      .step('first', { run: () => 1 })
      .parallel({
        label: {
          run: ({ outputs, signal }) => {
            expectTypeOf(outputs.first).toEqualTypeOf<number>()
            expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
            return { at: new Date() }
          },
        },
        box: {
          run: () => ({ size: 1 }),
          compensate: ({ output }) => {
            expectTypeOf(output).toEqualTypeOf<{ size: number } | undefined>()
          },
        },
        ribbon: {
          when: ({ input, outputs }) => {
            expectTypeOf(outputs.first).toEqualTypeOf<number>()
            return input.gift
          },
          run: async () => 'red' as string,
        },
      })
      .step('last', {
        run: ({ outputs }) => {
          expectTypeOf(outputs.label).toEqualTypeOf<{ at: string }>()
          expectTypeOf(outputs.ribbon).toEqualTypeOf<string | undefined>()
        },
      })
    expect(wide.steps.map(({ when }) => when !== undefined)).toEqual([false, false, false, true, false])
    const twice = () =>
      saga('x')
        .step('a', { run: () => 1 })
        // @ts-expect-error the types say so too
        .parallel({ a: { run: () => 1 } })
    expect(twice).toThrow('two steps')
  })

  it('[G14] gives a child’s result its type', () => {
    const inner = saga<number>('inner').step('double', { run: ({ input }) => input * 2 })
    const branched = saga('branched').parallel({ a: { run: () => 1 }, b: { run: () => 'b' } })
    const one = saga('one').parallel({ a: { run: () => 1 } })
    const asleep = inner.sleep('rest', { for: '1s' })
    saga('outer')
      .child('twice', { saga: inner, input: () => 4 })
      .child('both', { saga: branched, input: () => undefined })
      .child('one', { saga: one.pivot(), input: () => undefined })
      .child('none', { saga: asleep, input: () => 1 })
      .child('maybe', { saga: inner, input: () => 1, when: () => false })
      .step('read', {
        run: ({ outputs }) => {
          expectTypeOf(outputs.twice).toEqualTypeOf<number>()
          expectTypeOf(outputs.both).toEqualTypeOf<{ readonly a: number; readonly b: string } | undefined>()
          expectTypeOf(outputs.one).toEqualTypeOf<number>()
          expectTypeOf(outputs.none).toEqualTypeOf<undefined>()
          expectTypeOf(outputs.maybe).toEqualTypeOf<number | undefined>()
          // @ts-expect-error a child takes what its definition does
          saga('y').child('bad', { saga: inner, input: () => 'four' })
        },
      })
  })

  it('[G14] is immutable, and each step makes a new one', () => {
    const empty = saga('empty')
    const one = empty.step('first', { run: () => 1 })
    expect(empty.steps).toEqual([])
    expect([one, one.steps, one.steps[0], one.retry].every(Object.isFrozen)).toBe(true)
  })

  it('[G5] keeps its retry policy in the shape of the schema, and steps inherit it', () => {
    const retry = {
      maxAttempts: 5,
      initialInterval: '10ms',
      maxInterval: '1s',
      retryOn: ['network'],
    } as const
    const defined = saga('retrying', { retry })
      .step('one', { run: () => 1 })
      .step('two', { run: () => 2, retry: { maxAttempts: 1 } })
    expect(defined.steps[0]?.retry).toEqual({
      max_attempts: 5,
      backoff: 'exponential',
      initial_interval_ms: 10,
      max_interval_ms: 1_000,
      multiplier: 2,
      jitter: 'deterministic',
      retry_on: ['network'],
    })
    expect(defined.steps[1]?.retry).toMatchObject({ max_attempts: 1, retry_on: ['network'] })
  })

  it.each<[string, () => unknown]>([
    ['no name of a saga', () => saga('7')],
    ['version', () => saga('x', { version: 0 })],
    ['timeout', () => saga('x', { timeout: '0s' })],
    ['timeout must be no longer', () => saga('x', { timeout: '40000d' })],
    ['timeout must be no longer', () => saga('x').step('a', { run: () => 1, timeout: '25d' })],
    ['initialInterval must be no longer', () => saga('x', { retry: { initialInterval: '40000d' } })],
    ['maxAttempts', () => saga('x', { retry: { maxAttempts: 0 } })],
    ['multiplier', () => saga('x', { retry: { multiplier: 0.5 } })],
    ['maxInterval', () => saga('x', { retry: { initialInterval: '2s', maxInterval: '1s' } })],
    ['concurrency', () => saga('x', { concurrency: 0 })],
    ['no name of a step', () => saga('x').step('__proto__', { run: () => 1 })],
    [
      'two steps',
      () =>
        saga('x')
          .step('a', { run: () => 1 })
          // @ts-expect-error the types say so too
          .step('a', { run: () => 1 }),
    ],
    ['run must be', () => saga('x').step('a', { run: 'no' as never })],
  ])('[G14] that cannot be run is refused in one line: %s', (message, define) => {
    let thrown: unknown
    try {
      define()
    } catch (error) {
      thrown = error
    }
    expect((thrown as SagapostError)?.code).toBe('saga_definition_invalid')
    expect((thrown as SagapostError).message).toContain(message)
  })
})
