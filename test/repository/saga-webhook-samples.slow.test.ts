import { describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { useSamples } from '../support/samples.js'

const database = useDatabase({ migrated: false })
const samples = useSamples('docs/guides/sagas-and-webhooks.md')

describe('the guide of sagas and webhooks', () => {
  it('[O1] has samples that compile', () => {
    expect(samples.names).toEqual(['booking.ts', 'tell.ts', 'booking.test.ts'])
    expect(samples.compile()).toBe('')
  })

  it('[O1, G14] tell.ts sends no event, and lists the published history', async () => {
    const output = [
      'told 0',
      ...['saga.started', 'saga.step.started', 'saga.step.completed', 'saga.step.started'],
      ...['saga.step.completed', 'saga.completed', ''],
    ]
    const ran = await samples.run(['tell.ts'], {
      DATABASE_URL: database.url,
      SAGAPOST_MASTER_KEY: Buffer.alloc(32, 5).toString('base64'),
    })
    expect([ran.code, ran.output.split('\n')]).toEqual([0, output])
  })

  it('[O1, G14] its tests pass', async () => {
    const { code, output } = await samples.run(['--test', 'booking.test.ts'])
    expect([code, output]).toEqual([0, expect.stringMatching(/pass 3\n/)])
  })
})
