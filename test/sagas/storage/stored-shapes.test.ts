import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  blindBox,
  createDataBox,
  createPostgresStorage,
  resolveSaga,
  type StateStorage,
  saga,
  showSaga,
} from '../../../src/sagas/index.js'
import { useDatabase } from '../../support/database.js'
import { storages } from '../storages.js'
import { useCoordinators } from '../use-coordinators.js'
import { declined, runVariedSagas } from '../varied-sagas.js'

/** The members that docs/reference/general-sagas-schema.md lists. */
const members = {
  error: ['code', 'message', 'type', 'retryable', 'timestamp', 'stack_trace', 'details', 'cause'],
  retryPolicy: ['max_attempts', 'initial_interval_ms', 'max_interval_ms', 'multiplier', 'retry_on'],
  compensation: ['state', 'attempts', 'max_attempts', 'started_at', 'completed_at', 'error'],
}

const useMemory = storages['memory'] as NonNullable<(typeof storages)[string]>

type Shape = Record<string, unknown>

interface Stored {
  readonly errors: Shape[]
  readonly retryPolicies: Shape[]
  readonly compensations: Shape[]
}

/** What the tables hold, as it stands there: reading fills in what earlier releases have left out. */
const selectShapes = `
  SELECT 'errors' AS kind, error AS shape FROM sagapost.saga_instances WHERE error IS NOT NULL
  UNION ALL SELECT 'errors', error FROM sagapost.saga_steps WHERE error IS NOT NULL
  UNION ALL SELECT 'errors', error FROM sagapost.saga_events WHERE error IS NOT NULL
  UNION ALL SELECT 'retryPolicies', retry_policy FROM sagapost.saga_instances WHERE retry_policy IS NOT NULL
  UNION ALL SELECT 'compensations', compensation_state FROM sagapost.saga_steps WHERE compensation_state IS NOT NULL`

const mask = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'id')
      .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'time')
      .replace(/(\\n +at [^"\\]+)+/g, ' at')
      .replace(/"([0-9a-f]{32}|[0-9a-f]{16})"/g, '"hex"'),
  )

/** All that is kept of a saga, but for what differs between any two runs. */
async function keptOf(storage: StateStorage, id: string) {
  const [kept, steps, events] = await Promise.all([
    storage.getSaga(id),
    storage.listSteps(id),
    storage.listEvents(id),
  ])
  return mask({ saga: { ...kept, version: 0 }, steps, events }) as Record<string, Shape[]>
}

describe.each(Object.entries(storages))('what is stored of sagas: %s', (kind, use) => {
  const under = use()
  const coordinators = useCoordinators(under)
  let ran: ReturnType<typeof runVariedSagas> | undefined
  const run = () => {
    ran ??= runVariedSagas(under, coordinators)
    return ran
  }

  const storedShapes = async (ids: readonly string[]): Promise<Stored> => {
    const found: Stored = { errors: [], retryPolicies: [], compensations: [] }
    if (under.pool) {
      const { rows } = await under.pool.query<{ kind: keyof Stored; shape: Shape }>(selectShapes)
      for (const row of rows) found[row.kind].push(row.shape)
      return found
    }
    for (const id of ids) {
      const [kept, steps, events] = await Promise.all([
        under.storage.getSaga(id),
        under.storage.listSteps(id),
        under.storage.listEvents(id),
      ])
      const errors = [kept?.error, ...steps.map(({ error }) => error), ...events.map(({ error }) => error)]
      found.errors.push(...(errors.filter(Boolean) as unknown as Shape[]))
      found.retryPolicies.push(kept?.retryPolicy as unknown as Shape)
      found.compensations.push(...(steps.flatMap((step) => step.compensation ?? []) as unknown as Shape[]))
    }
    return found
  }

  it('[G5] has every member of its shape, null where there is nothing', async () => {
    const { errors, retryPolicies, compensations } = await storedShapes(Object.values(await run()))
    const chain = (error: Shape): Shape[] => [
      error,
      ...(error['cause'] ? chain(error['cause'] as Shape) : []),
    ]
    const inner = compensations.flatMap(({ error }) => (error ? [error as Shape] : []))
    const whole = [...errors, ...inner].flatMap(chain)
    expect([whole.length > 10, retryPolicies.length > 3, compensations.length, inner.length]).toEqual([
      true,
      true,
      2,
      1,
    ])
    const lacking = (shapes: Shape[], wanted: readonly string[]) =>
      shapes.filter((shape) => wanted.some((key) => !(key in shape)))
    expect(lacking(whole, members.error)).toEqual([])
    expect(lacking(retryPolicies, members.retryPolicy)).toEqual([])
    expect(lacking(compensations, members.compensation)).toEqual([])
  })

  it('[G5] keeps of a thrown error its details, its causes, its stacks and its time', async () => {
    const { stuck } = await run()
    const started = (await under.storage.getSaga(stuck))?.startedAt as Date
    const thrown = {
      code: 'declined',
      message: 'the card was declined',
      type: 'NonRetryableError',
      retryable: false,
      timestamp: expect.any(String),
      stack_trace: expect.stringContaining('varied-sagas'),
      details: { card: 'sesame-4711' },
      cause: {
        code: 'TypeError',
        message: 'sesame from the bank',
        stack_trace: expect.stringContaining('TypeError: sesame'),
        details: null,
        cause: { code: 'ECONNRESET', message: 'reset', cause: null },
      },
    }
    const steps = await under.storage.listSteps(stuck)
    const failures = (await under.storage.listEvents(stuck)).filter(({ type }) =>
      type.endsWith('step.failed'),
    )
    const errors = [
      (await under.storage.getSaga(stuck))?.error,
      steps[0]?.compensation?.error,
      steps[2]?.error,
      ...failures.map(({ error }) => error),
    ]
    expect(errors).toHaveLength(5)
    for (const error of errors) {
      expect(error).toMatchObject(thrown)
      // A process tells the time of its errors, the database all others.
      expect(Math.abs(Date.parse(error?.timestamp ?? '') - Number(started))).toBeLessThan(600_000)
    }
    const end = (await under.storage.listEvents(stuck)).find(({ type }) => type === 'compensation.failed')
    expect(end?.error).toMatchObject({ ...thrown, stack_trace: null, cause: { stack_trace: null } })
  })

  it('[G17] has a span of its own for each attempt at a step, and for each undo', async () => {
    const { order, stuck } = await run()
    for (const id of [order, stuck]) {
      const { spanId, traceId } = (await under.storage.getSaga(id)) ?? {}
      const events = await under.storage.listEvents(id)
      const attempts = events.filter(({ type }) => /step[.]started$/.test(type))
      const spans = attempts.map((event) => event.spanId)
      expect(new Set([...spans, spanId]).size).toBe(spans.length + 1)
      expect(events.every((event) => event.traceId === traceId)).toBe(true)
      for (const ended of events.filter(
        ({ type, error }) => /step[.](completed|failed)$/.test(type) && !error,
      )) {
        const begun = attempts.findLast(
          ({ stepIndex, sequence }) => stepIndex === ended.stepIndex && sequence < ended.sequence,
        )
        // What ends a wait is no attempt's work.
        expect([begun?.spanId, spanId]).toContain(ended.spanId)
      }
      const failed = events.filter(({ type }) => type === 'saga.step.failed')
      expect(failed.map((event) => spans.includes(event.spanId))).toEqual([true])
    }
  })

  it('[G2] records when the first and the last run of a step began', async () => {
    const { order } = await run()
    const [step] = await under.storage.listSteps(order)
    const runs = (await under.storage.listEvents(order)).filter(
      ({ type, stepIndex }) => type === 'saga.step.started' && stepIndex === 0,
    )
    expect(runs).toHaveLength(2)
    expect([step?.startedAt, step?.lastAttemptAt]).toEqual(runs.map(({ timestamp }) => timestamp))
    expect(Number(step?.lastAttemptAt)).toBeGreaterThan(Number(step?.startedAt))
  })

  it('[G1, G2, G3] records what a saga is about, what its steps were given and returned, and which coordinator ran it', async () => {
    const { order, cancelled, timedOut } = await run()
    expect(await under.storage.getSaga(order)).toMatchObject({
      name: 'Order 7',
      description: 'Two lamps for Ada',
      metadata: { tenant: 'a' },
      current: {
        reserve: { seat: 7 },
        paid: { timedOut: false, payload: { cents: 4000 } },
        packed: 'parcel',
        tell: { told: 'parcel' },
      },
    })
    const steps = await under.storage.listSteps(order)
    expect(steps.map(({ input, metadata }) => [input, metadata])).toEqual([
      [{ input: { order: 7 } }, { team: 'stock' }],
      [{ outputs: { reserve: { seat: 7 } } }, null],
      [{ outputs: { paid: { timedOut: false, payload: { cents: 4000 } } } }, null],
      [{ outputs: { packed: 'parcel' } }, null],
      [{ outputs: { packed: 'parcel' } }, null],
    ])
    for (const id of [cancelled, timedOut]) {
      expect((await under.storage.getSaga(id))?.current).toEqual({ one: 1 })
      expect((await under.storage.listSteps(id))[0]?.input).toEqual({ input: 'in' })
    }
    const events = await under.storage.listEvents(cancelled)
    const owner = { coordinator: expect.stringMatching(/^[0-9a-f-]{36}$/) }
    const named = events.filter(({ metadata }) => metadata !== null)
    expect(named.map(({ type, metadata }) => [type, metadata])).toEqual([
      ['saga.started', owner],
      ['saga.step.failed', owner],
    ])
  })

  it.runIf(kind === 'postgres')('[G13] is the same in memory as in PostgreSQL', async () => {
    const ids = await run()
    const other = useMemory()
    const others = await runVariedSagas(other, {
      coordinate: (definitions) => coordinators.coordinate(definitions, { storage: other.storage }),
    })
    for (const which of ['order', 'stuck', 'cancelled', 'timedOut'] as const) {
      expect(await keptOf(under.storage, ids[which])).toEqual(await keptOf(other.storage, others[which]))
    }
  })

  it.runIf(kind === 'postgres')('[G5] gives receivers of a failure only its code', async () => {
    const { stuck } = await run()
    const { rows } = await (under.pool as NonNullable<typeof under.pool>).query<{ payload: string }>(
      'SELECT payload::text AS payload FROM sagapost.events WHERE correlation_id = $1',
      [stuck],
    )
    const payloads = rows.map(({ payload }) => payload).join()
    expect(payloads).toContain('"errorCode":"declined"')
    expect(payloads).not.toMatch(/sesame|was declined|varied-sagas|coordinator/)
  })
})

describe('with a key', () => {
  const database = useDatabase()
  const box = createDataBox(randomBytes(32))
  const storageWith = (dataBox = box) =>
    createPostgresStorage({ pool: database.as('saga_app_role'), transactionPool: database.pool, dataBox })
  const under = { storage: storageWith() } as never
  const { coordinate } = useCoordinators(under)
  const kept = async () => {
    const { rows } = await database.pool.query<{ kept: string }>(
      `SELECT (SELECT json_agg(i)::text FROM sagapost.saga_instances AS i)
           || (SELECT json_agg(s)::text FROM sagapost.saga_steps AS s)
           || (SELECT json_agg(e)::text FROM sagapost.saga_events AS e) AS kept`,
    )
    return rows[0]?.kept ?? ''
  }
  const pay = saga<string>('pay', { retry: { maxAttempts: 1 } })
    .step('reserve', { run: () => 'sesame-seat', compensate: () => Promise.reject(declined()) })
    .step('charge', { run: () => Promise.reject(declined()) })
  const buy = saga<string>('buy').child('pay', { saga: pay, input: ({ input }) => input })

  it('[G15] stacks, details and causes are unreadable at rest, and what steps were given and returned', async () => {
    const storage = storageWith()
    const handle = await coordinate([buy, pay], { storage }).start(buy, 'sesame-input')
    await expect.poll(async () => (await storage.listSagas({ awaitingOperator: true })).length).toBe(1)
    const [failed] = await storage.listSagas({ awaitingOperator: true })
    const id = failed?.id ?? ''
    const text = await kept()
    expect(text).toContain('the card was declined')
    expect(text).not.toMatch(/sesame|varied-sagas|node:internal/)

    const opened = await showSaga(database.as('saga_readonly_role'), id, box)
    const thrown = { details: { card: 'sesame-4711' }, cause: { message: 'sesame from the bank' } }
    expect(opened?.error).toMatchObject({ ...thrown, stackTrace: expect.stringContaining('varied-sagas') })
    expect(opened?.steps.map(({ error, compensation }) => error ?? compensation?.error)).toMatchObject([
      thrown,
      thrown,
    ])
    expect(opened?.events.filter(({ error }) => error).map(({ error }) => error?.details)).toEqual(
      Array.from({ length: 4 }, () => thrown.details),
    )
    expect(opened).toMatchObject({ current: { reserve: 'sesame-seat' } })
    expect(opened?.steps[1]?.input).toEqual({ outputs: { reserve: 'sesame-seat' } })

    const blind = await showSaga(database.as('saga_readonly_role'), id)
    const sealed = { $sagapost_sealed: expect.any(String) }
    expect(blind?.error).toMatchObject({ code: 'declined', details: sealed, stackTrace: null, cause: null })
    expect([blind?.current, blind?.steps[1]?.input]).toEqual([sealed, sealed])

    // An operator has no key, and changes nothing of it.
    await resolveSaga(storageWith(blindBox), id, { action: 'skip', by: 'ann', why: 'settled by hand' })
    await handle.result()
    expect((await storage.listSteps(id))[1]?.error).toMatchObject(thrown)
    const [parent] = await storage.listSteps(handle.id)
    expect(parent?.error).toMatchObject({ code: 'child_failed', cause: { ...thrown, stack_trace: null } })
    expect(await kept()).not.toMatch(/sesame|varied-sagas/)
  })
})
