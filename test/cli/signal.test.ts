import { expect, it } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { useDatabase } from '../support/database.js'
import { runCli } from '../support/run-cli.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'

const database = useDatabase()
const server = useSagapost(database)
const signal = (...args: string[]) =>
  runCli(['sagas', 'signal', ...args], { SAGAPOST_URL: server.url, SAGAPOST_API_KEY: adminKey })

it('[G14] sagas signal sends a signal, reports when it was already sent, and refuses another payload', async () => {
  const first = await signal('paid', 'order-7', '--payload', '{"cents":5}', '--json')
  expect([first.code, first.stderr]).toEqual([0, ''])
  const receipt = JSON.parse(first.stdout)
  expect(receipt).toMatchObject({ name: 'paid', key: 'order-7', duplicate: false })
  const again = await signal('paid', 'order-7', '--payload', '{"cents":5}')
  expect([again.code, again.stdout]).toEqual([0, 'Already received\n'])
  const other = await signal('paid', 'order-7', '--payload', '6')
  expect([other.code, other.stdout]).toEqual([1, ''])
  expect(other.stderr).toContain('signal_conflict')
  expect((await signal('paid', 'order-8', '--payload', '{')).stderr).toContain('Must be JSON.')
  const client = createClient({ baseUrl: server.url, apiKey: adminKey })
  expect(await client.sagas.signal({ name: 'paid', key: 'order-7', payload: { cents: 5 } })).toEqual({
    ...receipt,
    duplicate: true,
  })
  const { rows } = await database.pool.query('SELECT name, key, payload FROM sagapost.saga_signals')
  expect(rows).toEqual([{ name: 'paid', key: 'order-7', payload: { cents: 5 } }])
})
