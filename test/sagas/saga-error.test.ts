import { describe, expect, it } from 'vitest'
import { describeError, NonRetryableError, retellError, type SagaError } from '../../src/sagas/saga-error.js'

const chainOf = (error: SagaError): SagaError[] => [error, ...(error.cause ? chainOf(error.cause) : [])]

/** An error with a chain of causes, each with a long stack. */
function nested(causes: number): Error {
  const error = new Error(`at ${causes}`, causes > 0 ? { cause: nested(causes - 1) } : {})
  error.stack = `Error: at ${causes}\n${'    at somewhere (file.js:1:1)\n'.repeat(100)}`
  return error
}

describe('an error that was thrown', () => {
  it('[G5] keeps eight causes, and no more of all their stacks than of one', () => {
    const chain = chainOf(describeError(nested(20), true))
    expect(chain.map(({ message }) => message)).toEqual(
      [20, 19, 18, 17, 16, 15, 14, 13, 12].map((at) => `at ${at}`),
    )
    const stacks = chain.map(({ stack_trace: stack }) => stack ?? '')
    expect(stacks.join('').length).toBe(8_000)
    expect(stacks.map(({ length }) => length > 0)).toEqual([true, true, true, ...Array(6).fill(false)])
    expect(new Set(chain.map(({ timestamp }) => timestamp)).size).toBe(1)
  })

  it.each([
    ['plain data', { a: [1, null] }, { a: [1, null] }],
    ['a Date in it', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['more than 4,000 characters', { a: 'x'.repeat(4_000) }, null],
    ['a list', [1], null],
    ['a text', 'x', null],
    ['what JSON cannot hold', { a: 1n }, null],
    ['what jsonb cannot hold', { a: '\0' }, null],
    ['what would be taken for encrypted', { $sagapost_sealed: 'x' }, null],
  ])('[G5] has for details %s', (_, details, kept) => {
    expect(describeError(Object.assign(new Error('x'), { details }), true).details).toEqual(kept)
    expect(describeError(new NonRetryableError('x', { details: details as never }), false).details).toEqual(
      kept,
    )
  })

  it('[G5] has every member, whatever was thrown', () => {
    const keys = Object.keys(describeError({}, true))
    for (const thrown of [
      'a text',
      7,
      null,
      undefined,
      Object.create(null),
      {
        get cause() {
          throw new Error()
        },
      },
    ]) {
      expect(Object.keys(describeError(thrown, true))).toEqual(keys)
    }
  })

  it('[G5] is restored without stacks, and with no more causes than are kept', () => {
    const told = retellError({
      ...describeError(new Error('outer'), true),
      cause: describeError(nested(9), true),
    })
    expect(chainOf(told)).toHaveLength(9)
    expect(chainOf(told).filter(({ stack_trace: stack }) => stack !== null)).toEqual([])
  })
})
