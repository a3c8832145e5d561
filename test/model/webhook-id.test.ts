import { expect, it } from 'vitest'
import { eventIdIn, eventTimeUs, webhookIdOf } from '../../src/model/index.js'
import { useDatabase } from '../support/database.js'

const database = useDatabase()

it('[J3] is the event id and its time to the microsecond, exact until 2106', async () => {
  const { rows } = await database.as('saga_readonly_role').query<{ at_us: number; exact: string }>(
    `SELECT ${eventTimeUs} AS at_us, (extract(epoch FROM event.created_at) * 1000000)::bigint AS exact
     FROM (
       SELECT timestamptz 'epoch' + second * interval '1 second' + microsecond * interval '1 microsecond'
       FROM generate_series(0, 4294967295, 1073741) AS second,
            unnest(ARRAY[0, 1, 2, 499999, 500000, 500001, 999998, 999999]) AS microsecond
       UNION ALL
       SELECT timestamptz '2026-01-31 12:00:00Z' + n * interval '1 microsecond' FROM generate_series(0, 9999) AS n
     ) AS event (created_at)`,
  )
  const wrong = rows.filter(
    ({ at_us, exact }) => webhookIdOf('7', at_us) !== `evt_7_${BigInt(exact).toString(36)}`,
  )
  expect(wrong.slice(0, 5)).toEqual([])
  expect(rows.length).toBeGreaterThan(10_000)
})

it('[J3] identifies its event', () => {
  expect(eventIdIn(webhookIdOf('9223372036854775807', 1_769_860_800_123_456))).toBe('9223372036854775807')
  expect(eventIdIn('evt_1042')).toBe('1042')
  for (const text of [
    '',
    '7',
    'evt_',
    'evt_07_a',
    'evt_7_',
    'evt_7_A',
    'evt_7_a ',
    'test_7_a',
    'evt_7_a_b',
  ]) {
    expect([text, eventIdIn(text)]).toEqual([text, null])
  }
})
