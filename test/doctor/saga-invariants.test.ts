import { beforeAll, describe, expect, it } from 'vitest'
import { findViolations } from '../../src/doctor/check-invariants.js'
import { checkInvariants, invariants } from '../../src/doctor/index.js'
import { readThrough } from '../../src/doctor/read-snapshot.js'
import { cancelSaga, createPostgresStorage, saga } from '../../src/sagas/index.js'
import { useDatabase } from '../support/database.js'
import { insertSaga, insertStuckSaga, runSaga } from '../support/sagas.js'
import { sagaBreaks } from './saga-breaks.js'

const database = useDatabase()
let undone: string
let pending: string

const failing = saga('failing', { retry: { maxAttempts: 2, initialInterval: '1ms' } })
  .step('reserve', { run: () => 1, compensate: () => {} })
  .step('charge', { run: () => Promise.reject(new Error('declined')) })
  .step('ship', { run: () => 1 })

/** One of each end, and one that no process runs. */
beforeAll(async () => {
  const app = database.as('saga_app_role')
  undone = await runSaga(app, failing, undefined)
  await runSaga(
    app,
    saga('good')
      .step('one', { run: () => 1 })
      .step('two', { run: () => 2 }),
    undefined,
  )
  await insertStuckSaga(app)
  pending = await insertSaga(app)
  const cancelled = await insertSaga(app)
  await cancelSaga(createPostgresStorage({ pool: app }), cancelled, { by: 'ann', reason: 'test' })
})

describe('the invariants of general sagas', () => {
  it('[G6] find nothing wrong with sagas in any state', async () => {
    expect(await checkInvariants(database.as('saga_readonly_role'))).toEqual([])
  })

  it('[G14] name what is open when everything should be settled', async () => {
    const found = await checkInvariants(database.as('saga_readonly_role'), { settled: true })
    expect(found.map(({ invariant }) => invariant)).toEqual(['no_saga_left_open'])
    expect(found[0]?.ids).toContain(pending)
  })

  const rulesOf = (name: string) => invariants.find((each) => each.name === name)?.rules.join(', ')
  it.each(sagaBreaks.map((each) => ({ ...each, rules: rulesOf(each.invariant) })))(
    '[$rules] $invariant sees $by',
    async ({ invariant, sql }) => {
      const client = await database.pool.connect()
      try {
        await client.query('BEGIN')
        for (const table of ['saga_instances', 'saga_steps', 'saga_events']) {
          await client.query(`ALTER TABLE sagapost.${table} DISABLE TRIGGER USER`)
        }
        const { rowCount } = await client.query(sql, [undone])
        expect(rowCount, 'the break changes something').toBeGreaterThan(0)
        await client.query('SET LOCAL ROLE saga_readonly_role')
        const found = await findViolations(readThrough(client))
        const violation = found.find((each) => each.invariant === invariant)
        expect(violation).toMatchObject({ detail: expect.stringMatching(/^1 ×, such as /) })
        expect(violation?.ids).toHaveLength(1)
      } finally {
        await client.query('ROLLBACK')
        client.release()
      }
    },
  )

  it('[G6, G15] miss nothing that retention has removed, and still report a gap', async () => {
    const client = await database.pool.connect()
    const without = async (sequences: string) => {
      await client.query('SAVEPOINT before')
      await client.query(`DELETE FROM sagapost.saga_events WHERE saga_id = $1 AND sequence ${sequences}`, [
        undone,
      ])
      const found = await findViolations(readThrough(client))
      await client.query('ROLLBACK TO SAVEPOINT before')
      return found.map(({ invariant }) => invariant)
    }
    try {
      await client.query('BEGIN')
      await client.query('SELECT sagapost.partition_saga_events()')
      await client.query('ALTER TABLE sagapost.saga_events DISABLE TRIGGER USER')
      expect(await without('<= 3')).toEqual([])
      expect(await without('> 0')).toEqual([])
      expect(await without('= 3')).toContain('saga_history_without_gaps')
      expect(await without('> 5')).toContain('saga_history_without_gaps')
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })
})
