import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../../support/database.js'
import { outcomeOf } from '../../support/refusal.js'
import {
  allowAnyBeginning,
  inRolledBackTransaction,
  insertSaga,
  insertSagaEvent,
  insertStep,
} from './fixtures.js'

const database = useDatabase()

beforeAll(() => allowAnyBeginning(database.pool))

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type Shape = 'is_saga_error' | 'is_saga_retry_policy' | 'is_saga_compensation_state'

async function holds(shape: Shape, value: unknown): Promise<unknown> {
  const { rows } = await database.pool.query(`SELECT sagapost.${shape}($1::jsonb) AS holds`, [
    JSON.stringify(value),
  ])
  return rows[0].holds
}

const fullError = {
  code: 'ERROR_CODE',
  message: '错误描述',
  type: 'error_type',
  retryable: true,
  timestamp: '2025-01-15T10:30:00Z',
  stack_trace: 'at charge (payment.ts:12)',
  details: { orderId: 7 },
  cause: null,
}
const fullRetryPolicy = {
  max_attempts: 3,
  initial_interval_ms: 1000,
  max_interval_ms: 60000,
  multiplier: 2.0,
  retry_on: ['network', 'timeout'],
}
const fullCompensationState = {
  state: 0,
  attempts: 1,
  max_attempts: 3,
  started_at: '2025-01-15T10:30:00Z',
  completed_at: null,
  error: null,
}

/** An error whose chain of causes has that many errors, itself included. */
function chainOf(errors: number): Json {
  let chain: Json = { code: 'ROOT', message: 'the first cause' }
  for (let i = 1; i < errors; i++) chain = { code: 'WRAPPED', message: `wrap ${i}`, cause: chain }
  return chain
}

describe('error', () => {
  it.each([
    ['the full example', fullError],
    ['code and message alone', { code: 'E', message: '' }],
    [
      'null in every optional key',
      { ...fullError, type: null, retryable: null, timestamp: null, details: null },
    ],
    ['a cause', { ...fullError, cause: { code: 'E', message: 'm', cause: fullError } }],
    ['keys that it does not know', { ...fullError, attempt: 3, cause_of: [] }],
    ['32 errors in its chain', chainOf(32)],
  ])('[G5] accepts an error with %s', async (_, error) => {
    expect(await holds('is_saga_error', error)).toBe(true)
  })

  it.each([
    ['null', null],
    ['a string', 'boom'],
    ['a number', 1],
    ['an array of errors', [fullError]],
    ['an empty object', {}],
    ['no code', { message: 'm' }],
    ['no message', { code: 'E' }],
    ['a code that is null', { ...fullError, code: null }],
    ['a code that is a number', { ...fullError, code: 500 }],
    ['a message that is an array', { ...fullError, message: ['m'] }],
    ['a type that is a number', { ...fullError, type: 1 }],
    ['retryable as a string', { ...fullError, retryable: 'true' }],
    ['a timestamp that is a number', { ...fullError, timestamp: 1736937000 }],
    ['a timestamp without an offset', { ...fullError, timestamp: '2025-01-15T10:30:00' }],
    ['a stack_trace that is an array', { ...fullError, stack_trace: [] }],
    ['details that are an array of objects', { ...fullError, details: [{}] }],
    ['a cause that is a string', { ...fullError, cause: 'network' }],
    ['a cause without a code', { ...fullError, cause: { message: 'm' } }],
    [
      'a bad cause deep in its chain',
      { ...fullError, cause: { ...fullError, cause: { code: 1, message: 'm' } } },
    ],
    ['33 errors in its chain', chainOf(33)],
  ])('[G5] refuses as an error %s', async (_, error) => {
    expect(await holds('is_saga_error', error)).toBe(false)
  })

  it('[G5] refuses a chain of 5,000 errors without running out of stack', async () => {
    const chain = `${'{"code": "E", "message": "m", "cause": '.repeat(5000)}null${'}'.repeat(5000)}`
    expect(await outcomeOf(insertSaga(database.pool, { error: chain }))).toMatchObject({
      sqlState: '23514',
      constraint: 'saga_instances_error_shape',
    })
  })

  it('[G5] holds in all three tables', async () => {
    const saga = await insertSaga(database.pool, { error: fullError })
    await insertStep(database.pool, saga, { error: fullError })
    await insertSagaEvent(database.pool, saga, { error: fullError })
    const bad = { error: { code: 1, message: 'm' } }
    expect(await outcomeOf(insertSaga(database.pool, bad))).toMatchObject({
      constraint: 'saga_instances_error_shape',
    })
    expect(await outcomeOf(insertStep(database.pool, saga, { step_index: 1, ...bad }))).toMatchObject({
      constraint: 'saga_steps_error_shape',
    })
    expect(await outcomeOf(insertSagaEvent(database.pool, saga, bad))).toMatchObject({
      constraint: 'saga_events_error_shape',
    })
  })
})

describe('retry_policy', () => {
  it.each([
    ['the full example', fullRetryPolicy],
    ['max_attempts alone', { max_attempts: 1 }],
    [
      'null in every optional key',
      { max_attempts: 1, initial_interval_ms: null, multiplier: null, retry_on: null },
    ],
    ['equal intervals', { max_attempts: 1, initial_interval_ms: 5, max_interval_ms: 5 }],
    ['a longest interval only', { max_attempts: 1, max_interval_ms: 0 }],
    ['no interval between attempts', { max_attempts: 1, initial_interval_ms: 0 }],
    ['a multiplier with a fraction', { max_attempts: 1, multiplier: 1.5 }],
    ['nothing to retry on', { max_attempts: 1, retry_on: [] }],
    ['keys that it does not know', { max_attempts: 1, jitter: true }],
  ])('[G5] accepts a retry policy with %s', async (_, policy) => {
    expect(await holds('is_saga_retry_policy', policy)).toBe(true)
  })

  it.each([
    ['null', null],
    ['an array', [fullRetryPolicy]],
    ['an empty object', {}],
    ['max_attempts null', { max_attempts: null }],
    ['max_attempts 0', { max_attempts: 0 }],
    ['max_attempts 1.5', { max_attempts: 1.5 }],
    ['max_attempts 2^31', { max_attempts: 2 ** 31 }],
    ['max_attempts as a string', { max_attempts: '3' }],
    ['max_attempts in an array', { max_attempts: [3] }],
    ['a negative first interval', { max_attempts: 1, initial_interval_ms: -1 }],
    ['a first interval with a fraction', { max_attempts: 1, initial_interval_ms: 0.5 }],
    ['a first interval as a string', { max_attempts: 1, initial_interval_ms: '1s' }],
    ['a longest interval below the first', { max_attempts: 1, initial_interval_ms: 6, max_interval_ms: 5 }],
    ['a longest interval of 2^53', { max_attempts: 1, max_interval_ms: 2 ** 53 }],
    ['a negative longest interval', { max_attempts: 1, max_interval_ms: -1 }],
    ['a multiplier below 1', { max_attempts: 1, multiplier: 0.9 }],
    ['a multiplier over 1000', { max_attempts: 1, multiplier: 1001 }],
    ['a multiplier as a string', { max_attempts: 1, multiplier: '2' }],
    ['retry_on as a string', { max_attempts: 1, retry_on: 'network' }],
    ['retry_on with a number', { max_attempts: 1, retry_on: ['network', 1] }],
    ['retry_on with a nested array', { max_attempts: 1, retry_on: [['network']] }],
    ['retry_on with null', { max_attempts: 1, retry_on: [null] }],
  ])('[G5] refuses as a retry policy %s', async (_, policy) => {
    expect(await holds('is_saga_retry_policy', policy)).toBe(false)
  })
})

describe('compensation_state', () => {
  it.each([
    ['the full example', fullCompensationState],
    ['its required keys alone', { state: 6, attempts: 0, max_attempts: 1 }],
    ['an error', { ...fullCompensationState, error: chainOf(2) }],
    ['keys that it does not know', { ...fullCompensationState, worker: 'a' }],
  ])('[G5] accepts a compensation state with %s', async (_, state) => {
    expect(await holds('is_saga_compensation_state', state)).toBe(true)
  })

  it.each([
    ['null', null],
    ['an array', [fullCompensationState]],
    ['no state', { attempts: 0, max_attempts: 1 }],
    ['no attempts', { state: 0, max_attempts: 1 }],
    ['no max_attempts', { state: 0, attempts: 0 }],
    ['state 7', { ...fullCompensationState, state: 7 }],
    ['state −1', { ...fullCompensationState, state: -1 }],
    ['state 0.5', { ...fullCompensationState, state: 0.5 }],
    ['a state by name', { ...fullCompensationState, state: 'Pending' }],
    ['negative attempts', { ...fullCompensationState, attempts: -1 }],
    ['max_attempts 0', { ...fullCompensationState, max_attempts: 0 }],
    ['started_at as a number', { ...fullCompensationState, started_at: 0 }],
    ['completed_at without a time', { ...fullCompensationState, completed_at: '2025-01-15' }],
    ['an error as a string', { ...fullCompensationState, error: 'boom' }],
    ['an error without a message', { ...fullCompensationState, error: { code: 'E' } }],
  ])('[G5] refuses as a compensation state %s', async (_, state) => {
    expect(await holds('is_saga_compensation_state', state)).toBe(false)
  })
})

describe('RFC 3339', () => {
  async function isRfc3339(text: string | null): Promise<boolean> {
    const { rows } = await database.pool.query('SELECT sagapost.is_rfc3339($1) AS holds', [text])
    return rows[0].holds
  }

  it.each([
    '2025-01-15T10:30:00Z',
    '2025-01-15t10:30:00z',
    '2025-01-15T10:30:00.123456789+05:30',
    '2025-12-31T23:59:60Z',
    '2024-02-29T00:00:00-23:59',
    '2000-02-29T00:00:00Z',
    '2025-04-30T00:00:00Z',
  ])('[G5] accepts %s', async (text) => {
    expect(await isRfc3339(text)).toBe(true)
  })

  it.each([
    '',
    '2025-01-15',
    '2025-01-15 10:30:00Z',
    '2025-01-15T10:30Z',
    '2025-01-15T10:30:00',
    '2025-01-15T10:30:00+0530',
    '2025-01-15T24:00:00Z',
    '2025-01-15T10:60:00Z',
    '2025-01-15T10:30:61Z',
    '2025-01-15T10:30:00.Z',
    '2025-13-01T00:00:00Z',
    '2025-00-01T00:00:00Z',
    '2025-01-00T00:00:00Z',
    '2025-01-32T00:00:00Z',
    '2025-04-31T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2024-02-30T00:00:00Z',
    '2025-01-15T10:30:00Z\n',
    'x2025-01-15T10:30:00Z',
    '٢٠٢٥-01-15T10:30:00Z',
  ])('[G5] refuses %j', async (text) => {
    expect(await isRfc3339(text)).toBe(false)
  })

  it('[G5] accepts every moment that JavaScript writes', async () => {
    const moments = fc.date({
      noInvalidDate: true,
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59Z'),
    })
    const texts = fc.sample(moments, 500).map((moment) => moment.toISOString())
    const { rows } = await database.pool.query(
      'SELECT text FROM unnest($1::text[]) AS text WHERE NOT sagapost.is_rfc3339(text)',
      [texts],
    )
    expect(rows).toEqual([])
  })
})

const moment = fc
  .date({ noInvalidDate: true, min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z') })
  .map((date) => date.toISOString())
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null })
const count = (min: number) => fc.integer({ min, max: 2 ** 31 - 1 })

const { error: validError } = fc.letrec<{ error: Json }>((tie) => ({
  error: fc.record(
    {
      code: fc.string(),
      message: fc.string(),
      type: optional(fc.string()),
      retryable: optional(fc.boolean()),
      timestamp: optional(moment),
      stack_trace: optional(fc.string()),
      details: optional(fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<Json>)),
      cause: fc.option(tie('error'), { nil: null, maxDepth: 8, depthSize: 'small' }),
    },
    { requiredKeys: ['code', 'message'] },
  ) as fc.Arbitrary<Json>,
}))

const validRetryPolicy = fc
  .record(
    {
      max_attempts: count(1),
      initial_interval_ms: optional(fc.maxSafeNat()),
      max_interval_ms: optional(fc.maxSafeNat()),
      multiplier: optional(fc.double({ min: 1, max: 1000, noNaN: true })),
      retry_on: optional(fc.array(fc.string())),
    },
    { requiredKeys: ['max_attempts'] },
  )
  .filter((policy) => (policy.max_interval_ms ?? Infinity) >= (policy.initial_interval_ms ?? 0))

const validCompensationState = fc.record(
  {
    state: fc.integer({ min: 0, max: 6 }),
    attempts: count(0),
    max_attempts: count(1),
    started_at: optional(moment),
    completed_at: optional(moment),
    error: optional(validError),
  },
  { requiredKeys: ['state', 'attempts', 'max_attempts'] },
)

const shapes = [
  { shape: 'is_saga_error', valid: validError, example: fullError },
  { shape: 'is_saga_retry_policy', valid: validRetryPolicy, example: fullRetryPolicy },
  { shape: 'is_saga_compensation_state', valid: validCompensationState, example: fullCompensationState },
] as const

/** Each shape's column; the CHECK on it is `<table>_<column>_shape`. */
const columns = {
  is_saga_error: ['saga_instances', 'error'],
  is_saga_retry_policy: ['saga_instances', 'retry_policy'],
  is_saga_compensation_state: ['saga_steps', 'compensation_state'],
} as const

describe.each(shapes)('$shape, for generated values', ({ shape, valid, example }) => {
  const [table, column] = columns[shape]

  /** What becomes of the row that carries the value. */
  function store(value: unknown) {
    return inRolledBackTransaction(database.pool, (client) =>
      outcomeOf(
        client.query(
          table === 'saga_instances'
            ? `INSERT INTO sagapost.saga_instances (id, definition_id, state, current_step, total_steps, ${column})
               VALUES ('generated', 'd', 0, 0, 0, $1)`
            : `WITH saga AS (
                 INSERT INTO sagapost.saga_instances (id, definition_id, state, current_step, total_steps)
                 VALUES ('generated', 'd', 0, 0, 0) RETURNING id)
               INSERT INTO sagapost.saga_steps
                 (id, saga_id, step_index, name, state, attempts, max_attempts, ${column})
               SELECT 'generated', id, 0, 's', 0, 0, 1, $1 FROM saga`,
          [JSON.stringify(value)],
        ),
      ),
    )
  }

  it('[G5] answers false for SQL null', async () => {
    const { rows } = await database.pool.query(`SELECT sagapost.${shape}(NULL) AS holds`)
    expect(rows).toEqual([{ holds: false }])
  })

  it('[G5] accepts every valid value', async () => {
    await fc.assert(
      fc.asyncProperty(valid, async (value) => {
        expect(await store(value)).toBe('accepted')
      }),
      { numRuns: 200 },
    )
  })

  it('[G5] answers any JSON at all with its own CHECK or not at all, and never raises', async () => {
    // Besides plain JSON, the example with any of its keys replaced by any JSON: this reaches the casts.
    const almost = fc
      .dictionary(fc.constantFrom(...Object.keys(example)), fc.jsonValue())
      .map((replaced) => ({ ...example, ...replaced }))
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.jsonValue(), almost), async (value) => {
        const answer = await holds(shape, value)
        expect(answer).toBeTypeOf('boolean')
        const outcome = await store(value)
        if (answer) expect(outcome).toBe('accepted')
        else expect(outcome).toMatchObject({ sqlState: '23514', constraint: `${table}_${column}_shape` })
      }),
      { numRuns: 500 },
    )
  })
})
