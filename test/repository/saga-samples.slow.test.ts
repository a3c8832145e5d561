import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { useSamples } from '../support/samples.js'

const database = useDatabase({ migrated: false })
const samples = useSamples('docs/guides/write-a-saga.md', 'docs/guides/test-a-saga.md')
const env = () => ({ DATABASE_URL: database.url })

it('[O1] every TypeScript sample of the guides is listed here', () => {
  expect(samples.names).toEqual([
    ...['checkout.ts', 'run.ts', 'fulfil.ts', 'wait.ts', 'operate.ts', 'checkout.test.ts'],
  ])
})

it('[O1] they compile', () => {
  expect(samples.compile()).toBe('')
})

describe('in order', () => {
  it('[O1, G14] run.ts pays an order once, undoes one that cannot be paid, and starts one in a transaction', async () => {
    const output = [
      'paid with pay-',
      'the same saga: true',
      expect.stringMatching(/^released piano\//),
      'Compensated card_declined',
      'Completed',
      '',
    ]
    const ran = await samples.run(['run.ts'], env())
    expect([ran.code, ran.output.split('\n')]).toEqual([0, output])
    const { rows } = await database.pool.query('SELECT order_id FROM payments ORDER BY 1')
    expect(rows.map(({ order_id }) => order_id)).toEqual([1, 3])
  })

  it('[O1, G14] wait.ts waits for a payment, and continues with it', async () => {
    const output = 'label invoice-7\nCompleted\nhad come before: true\n'
    expect(await samples.run(['wait.ts'], env())).toEqual({ code: 0, output })
  })

  it('[O1, G14] operate.ts shows what was undone', async () => {
    const output = 'reserve Compensated \ncharge Compensated card_declined\nrecord Skipped \nremoved 0\n'
    expect(await samples.run(['operate.ts'], env())).toEqual({ code: 0, output })
  })
})

it('[O1, G14] the tests of the guide pass', async () => {
  const { code, output } = await samples.run(['--test', 'checkout.test.ts'])
  expect([code, output]).toEqual([0, expect.stringMatching(/pass 7\n/)])
})
