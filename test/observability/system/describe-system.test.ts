import { expect, it } from 'vitest'
import { describeSystem } from '../../../src/observability/index.js'
import { useDatabase } from '../../support/database.js'

const database = useDatabase()

it('reports the rows of a table by the last statistics, and nothing before the first', async () => {
  const rowsOf = async (table: string) => {
    const { tables } = await describeSystem(database.as('saga_readonly_role'))
    return tables.find(({ name }) => name === table)?.rowsEstimated
  }
  await database.pool.query(
    `INSERT INTO sagapost.events (event_type, payload) SELECT 'a', '{}' FROM generate_series(1, 30)`,
  )
  expect(await rowsOf('events')).toBeNull()
  await database.pool.query('ANALYZE sagapost.events')
  expect(await rowsOf('events')).toBe(30)
})
