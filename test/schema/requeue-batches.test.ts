import { describe, expect, it } from 'vitest'
import { requeueDeadLetters } from '../../src/built-in-sagas/index.js'
import { requeueBatch } from '../../src/built-in-sagas/requeue-batch.js'
import { useDatabase } from '../support/database.js'
import { insertDeadLetters, requeuedTimes } from '../support/dead-letters.js'
import { insertSubscription } from '../support/fixtures.js'
import { codeOf } from '../support/refusal.js'

const database = useDatabase()
const operator = () => database.as('dead_letter_operator')
const runner = () => database.as('saga_app_role')

describe('the batches of a requeue', () => {
  it('[D4, S19] are for the attempt that runs: any other caller requeues nothing', async () => {
    const subscriptionId = await insertSubscription(database.pool)
    const letters = await insertDeadLetters(database.pool, { count: 1_100, subscriptionId })
    const { sagaId } = await requeueDeadLetters(operator(), { subscriptionId })
    const setStep = (state: number, attempts: number) =>
      database.pool.query('UPDATE sagapost.saga_steps SET state = $2, attempts = $3 WHERE saga_id = $1', [
        sagaId,
        state,
        attempts,
      ])
    expect(await requeueBatch(runner(), sagaId, 0)).toBeNull()
    await setStep(1, 1)
    expect(await requeueBatch(runner(), sagaId, 1)).toMatchObject({ requeued: 500 })
    expect(await requeueBatch(runner(), sagaId, 2)).toBeNull()
    await setStep(3, 1)
    await setStep(1, 2)
    expect(await requeueBatch(runner(), sagaId, 1)).toBeNull()
    expect(await requeuedTimes(database.pool, letters)).toEqual({ 0: 600, 1: 500 })
    const answers = await Promise.all(Array.from({ length: 4 }, () => requeueBatch(runner(), sagaId, 2)))
    expect(answers.map((answer) => answer?.requeued).sort()).toEqual([0, 0, 100, 500])
    expect(await requeuedTimes(database.pool, letters)).toEqual({ 1: 1_100 })
    expect(await requeueBatch(runner(), 'nobody', 1)).toBeNull()
  })

  it('[O7, S20] are at most as large as one requeue, and only for its own saga, which no coordinator holds', async () => {
    const subscriptionId = await insertSubscription(database.pool)
    await insertDeadLetters(database.pool, { count: 13, subscriptionId })
    const client = await operator().connect()
    const given = { id: 'too-many', definition_id: 'sagapost.requeue-dead-letters', definition_version: 1 }
    const saga = {
      ...given,
      input: JSON.stringify({ subscriptionId }),
      step_names: ['requeue'],
      step_attempts: [1],
    }
    const ask = (most: number, over = {}) =>
      client.query('SELECT * FROM sagapost.start_dead_letter_requeue($1, 5, $2)', [
        JSON.stringify({ ...saga, ...over }),
        most,
      ])
    expect(await codeOf(ask(12))).toBe('requeue_too_large')
    expect(await codeOf(ask(13, { definition_id: 'checkout' }))).toBe('permission_denied')
    const foreign = { parent_id: 'other', publishes: true, events: [{ type: 'saga.started' }] }
    const { rows } = await ask(13, { lease_owner: 'me', lease_ms: 1_000, ...foreign })
    expect(rows).toMatchObject([{ created: true, answer: { matching: 13 } }])
    const { rows: made } = await database.pool.query(
      `SELECT lease_owner, parent_id, publishes, event_count, (SELECT array_agg(cardinality(letters) ORDER BY batch) FROM sagapost.requeue_batches
                            WHERE saga_id = id) AS sizes
       FROM sagapost.saga_instances WHERE id = 'too-many'`,
    )
    const own = { lease_owner: null, parent_id: null, publishes: false, event_count: 0 }
    expect(made).toEqual([{ ...own, sizes: [5, 5, 3] }])
    client.release()
  })
})
