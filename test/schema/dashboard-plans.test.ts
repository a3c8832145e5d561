import { beforeAll, describe, expect, it } from 'vitest'
import { selectFailingEndpoints } from '../../src/observability/live/list-attention.js'
import { expireDeliveryMinutes } from '../../src/observability/statistics/expire-minutes.js'
import { selectHealth } from '../../src/observability/statistics/read-health.js'
import { selectMinutes } from '../../src/observability/statistics/read-minutes.js'
import { selectRecent } from '../../src/observability/statistics/read-recent.js'
import { addToDeliveryMinutes } from '../../src/observability/statistics/write-minutes.js'
import { useDatabase } from '../support/database.js'
import { countRowsRead, explain } from '../support/explain.js'

const SUBSCRIPTIONS = 100
const MINUTES = 2 * 24 * 60
/** One row for each minute of two days: the planner may read it whole. */
const small = /^event_minutes/

const database = useDatabase()
const readOnly = () => database.as('saga_readonly_role')

/** Events have one row for each minute, however many subscriptions there are. Two days in which a hundred subscriptions had results in every minute. */
beforeAll(async () => {
  await database.pool.query(
    `INSERT INTO sagapost.delivery_minutes
     SELECT id, date_trunc('minute', sagapost.now()) - n * interval '1 minute', 10, 1, 0, '{0,5,6}', NULL
     FROM generate_series(0, $1::int) AS id, generate_series(0, $2::int - 1) AS n`,
    [SUBSCRIPTIONS, MINUTES],
  )
  await database.pool.query(
    `INSERT INTO sagapost.event_minutes SELECT minute, 5 FROM sagapost.delivery_minutes WHERE subscription_id = 0`,
  )
  await database.pool.query('ANALYZE')
})

describe('what the dashboard reads', () => {
  it.each<[string, string, unknown[], number]>([
    ['an hour of all', selectMinutes, ['0', 1, 60], 2 * 62 + MINUTES],
    ['a day of all', selectMinutes, ['0', 10, 144], 2 * 1_450 + MINUTES],
    ['a day of one subscription', selectMinutes, ['7', 10, 144], 2 * 1_450 + MINUTES],
    ['the health of a page of subscriptions', selectHealth, [['1', '2', '3', '4', '5']], 5 * 3 * 62],
    ['the last minutes', selectRecent, ['0'], 10],
  ])('[S21, O5] (%s) reads as many minutes as it shows, by their key', async (_, sql, values, rowsMax) => {
    const plan = await explain(readOnly(), sql, values, small)
    expect(plan.scanned).toEqual([])
    expect(plan.indexes).toEqual(['delivery_minutes_pkey'])
    expect(await countRowsRead(readOnly(), sql, values)).toBeLessThanOrEqual(rowsMax)
  })

  it('[S21] counts are added by their key, and removed by their time', async () => {
    const counts = [{ subscriptionId: '1', succeeded: 1, failed: 0, deadLettered: 0, durations: [1] }]
    const added = await explain(database.as('saga_orchestrator'), addToDeliveryMinutes, [
      JSON.stringify(counts),
    ])
    expect(added.scanned).toEqual([])
    const maintainer = database.as('schema_maintainer')
    const expired = await explain(maintainer, expireDeliveryMinutes, [47 * 3_600_000, 100])
    expect(expired).toMatchObject({ scanned: [], indexes: ['idx_delivery_minutes_minute'] })
  })

  it('[U1] failing endpoints are found in a small table', async () => {
    expect((await readOnly().query(selectFailingEndpoints, [5, 5])).rows).toEqual([])
  })
})
