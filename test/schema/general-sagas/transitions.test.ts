import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  isFinal,
  type SagaState,
  type SagaStepState,
  sagaMachine,
  sagaStepMachine,
} from '../../../src/model/index.js'
import type { StateMachine } from '../../../src/model/state-machine.js'
import { useDatabase } from '../../support/database.js'
import { isLegalMove } from '../../support/is-legal-move.js'
import { codeOf } from '../../support/refusal.js'
import { insertSaga, insertStep } from './fixtures.js'

const database = useDatabase()

const setSagaState = `
  UPDATE sagapost.saga_instances SET state = $2, awaiting_operator = ($2 = 6) WHERE id = $1`
const setStepState = `
  UPDATE sagapost.saga_steps SET state = $2, attempts = attempts + CASE WHEN $2 = 1 AND state <> 1 THEN 1 ELSE 0 END
  WHERE id = $1`

/** The shortest legal way from the beginning. */
function wayTo<Status extends string>(machine: StateMachine<Status>, status: Status): Status[] {
  const ways = new Map<Status, Status[]>([[machine.initial, []]])
  for (const [reached, way] of ways) {
    for (const { from, to } of machine.moves)
      if (from === reached && !ways.has(to)) ways.set(to, [...way, to])
  }
  return ways.get(status) as Status[]
}

async function sagaIn(state: SagaState): Promise<string> {
  const id = await insertSaga(database.pool)
  for (const next of wayTo(sagaMachine, state)) await moveSaga(id, next)
  return id
}

async function stepIn(state: SagaStepState): Promise<string> {
  const id = await insertStep(database.pool, await insertSaga(database.pool))
  for (const next of wayTo(sagaStepMachine, state)) await moveStep(id, next)
  return id
}

const moveSaga = (id: string, to: SagaState, as = database.pool) =>
  as.query(setSagaState, [id, sagaMachine.statuses.indexOf(to)])
const moveStep = (id: string, to: SagaStepState, as = database.pool) =>
  as.query(setStepState, [id, sagaStepMachine.statuses.indexOf(to)])

describe.each(['owner', 'saga_app_role'] as const)('as the %s', (who) => {
  const writer = () => (who === 'owner' ? database.pool : database.as(who))

  it.each(sagaMachine.statuses)(
    '[G1, G14] a saga in %s makes the legal moves and no others',
    async (from) => {
      const outcomes: Record<string, string> = {}
      const expected: Record<string, string> = {}
      for (const to of sagaMachine.statuses) {
        outcomes[to] = await codeOf(moveSaga(await sagaIn(from), to, writer()))
        // An update that keeps the state is no move, but for rows that are final.
        const legal = isLegalMove(sagaMachine, from, to) || (from === to && !isFinal(sagaMachine, from))
        expected[to] = legal ? 'accepted' : isFinal(sagaMachine, from) ? 'row_is_final' : 'illegal_move'
      }
      expect(outcomes).toEqual(expected)
    },
  )

  it.each(sagaStepMachine.statuses)(
    '[G2, G14] a step in %s makes the legal moves and no others',
    async (from) => {
      const outcomes: Record<string, string> = {}
      const expected: Record<string, string> = {}
      for (const to of sagaStepMachine.statuses) {
        outcomes[to] = await codeOf(moveStep(await stepIn(from), to, writer()))
        const legal =
          isLegalMove(sagaStepMachine, from, to) || (from === to && !isFinal(sagaStepMachine, from))
        expected[to] = legal ? 'accepted' : isFinal(sagaStepMachine, from) ? 'row_is_final' : 'illegal_move'
      }
      expect(outcomes).toEqual(expected)
    },
  )
})

it('[G14] a Failed saga is frozen once no operator is awaited', async () => {
  const id = await sagaIn('Failed')
  const settle = 'UPDATE sagapost.saga_instances SET awaiting_operator = false WHERE id = $1'
  expect(await codeOf(database.pool.query(settle, [id]))).toBe('accepted')
  expect(await codeOf(database.pool.query(settle, [id]))).toBe('row_is_final')
  expect(await codeOf(moveSaga(id, 'Compensating'))).toBe('row_is_final')
})

it('[G1, G2] a saga and a step begin as Pending, a step with 0 attempts', async () => {
  expect(await codeOf(insertSaga(database.pool, { state: 1 }))).toBe('illegal_initial_state')
  const saga = await insertSaga(database.pool)
  expect(await codeOf(insertStep(database.pool, saga, { state: 2 }))).toBe('illegal_initial_state')
  expect(await codeOf(insertStep(database.pool, saga, { attempts: 1 }))).toBe('illegal_initial_state')
})

it.each([
  ['version', 5, 4, 'illegal_move'],
  ['event_count', 3, 2, 'illegal_move'],
  ['version', 5, 6, 'accepted'],
] as const)('[G14] %s goes from %i to %i: %s', async (column, from, to, outcome) => {
  const id = await insertSaga(database.pool, { [column]: from })
  const update = `UPDATE sagapost.saga_instances SET ${column} = $2 WHERE id = $1`
  expect(await codeOf(database.pool.query(update, [id, to]))).toBe(outcome)
})

it.each([
  ['saga_instances', 'definition_id', 'other'],
  ['saga_instances', 'definition_version', 2],
  ['saga_instances', 'idempotency_key', 'other'],
  ['saga_instances', 'initial_data', '{"other": 1}'],
  ['saga_instances', 'deadline_at', '2030-01-01T00:00:00Z'],
  ['saga_instances', 'total_steps', 9],
  ['saga_instances', 'trace_id', 'other'],
  ['saga_steps', 'name', 'other'],
  ['saga_steps', 'step_index', 4],
] as const)('[G1, G2] what a row is for never changes: %s.%s', async (table, column, value) => {
  const saga = await insertSaga(database.pool)
  const id = table === 'saga_steps' ? await insertStep(database.pool, saga) : saga
  const update = `UPDATE sagapost.${table} SET ${column} = $2 WHERE id = $1`
  expect(await codeOf(database.pool.query(update, [id, value]))).toBe('identity_is_frozen')
})

it.each([
  [2, 'illegal_move'],
  [0, 'illegal_move'],
  [1, 'accepted'],
] as const)('[G2] attempts moves by one when a run begins: by %i is %s', async (by, outcome) => {
  const id = await insertStep(database.pool, await insertSaga(database.pool))
  const update = 'UPDATE sagapost.saga_steps SET state = 1, attempts = attempts + $2 WHERE id = $1'
  expect(await codeOf(database.pool.query(update, [id, by]))).toBe(outcome)
})

it('[G14] a key is taken once in a definition', async () => {
  const [idempotency_key, definition_id] = [randomUUID(), randomUUID()]
  await insertSaga(database.pool, { idempotency_key, definition_id })
  expect(await codeOf(insertSaga(database.pool, { idempotency_key, definition_id }))).toBe('saga_key_exists')
  expect(await codeOf(insertSaga(database.pool, { idempotency_key, definition_id: 'other' }))).toBe(
    'accepted',
  )
})

it.each([
  [{ lease_owner: 'a' }],
  [{ lease_until: '2030-01-01T00:00:00Z' }],
  [{ idempotency_key: '' }],
  [{ definition_version: 0 }],
  [{ version: -1 }],
  [{ cancel_reason: 'why' }],
])('[G1] refuses a saga with %j', async (row) => {
  expect(await codeOf(insertSaga(database.pool, row))).toBe('saga_value_invalid')
})

it('[G14] a finished saga holds no lease', async () => {
  const id = await insertSaga(database.pool, { lease_owner: 'a', lease_until: '2030-01-01T00:00:00Z' })
  expect(await codeOf(moveSaga(id, 'Cancelled'))).toBe('saga_value_invalid')
})
