import { expect, it } from 'vitest'
import { readConfig } from '../../src/config/index.js'
import {
  findSagasWithoutProcess,
  selectSagasWithoutProcess,
} from '../../src/doctor/find-sagas-without-process.js'
import { createMetrics } from '../../src/observability/index.js'
import { startParts } from '../../src/runtime/start-parts.js'
import { createPostgresStorage, saga } from '../../src/sagas/index.js'
import { silent } from '../http/api-server.js'
import { useDatabase } from '../support/database.js'
import { countRowsRead } from '../support/explain.js'
import { insertSaga } from '../support/sagas.js'

const database = useDatabase()
const find = async () =>
  (await findSagasWithoutProcess(database.as('saga_readonly_role'))).map(({ code, detail }) => [
    code,
    detail.replace(/\d+ s$/, '… s'),
  ])
const missing = (definition: string, count: number) => [
  'sagas_without_process',
  `${definition}: ${count} due, the oldest for … s`,
]
const register = (id: string, definitions: string[] | null) =>
  database.pool.query(
    `INSERT INTO sagapost.processes (id, hostname, pid, version, parts, saga_definitions)
     VALUES ($1, 'here', 1, '1', '{sagas}', $2)`,
    [id, definitions],
  )

it('[G14] sagas whose definition no running process has are named, cancelled ones included', async () => {
  await insertSaga(database.pool, { definition: 'parcels' })
  await insertSaga(database.pool, { definition: 'parcels' })
  const cancelled = await insertSaga(database.pool, { definition: 'orders' })
  await createPostgresStorage({ pool: database.pool }).requestCancel(cancelled, {
    by: 'test',
    reason: 'not wanted',
  })
  expect(await find()).toEqual([missing('orders@1', 1), missing('parcels@1', 2)])
  await register('newer', ['parcels@2', 'orders@1'])
  expect(await find()).toEqual([missing('parcels@1', 2)])
  await database.pool.query(`UPDATE sagapost.processes SET seen_at = seen_at - interval '1 hour'`)
  expect(await find()).toHaveLength(2)
  // A release before does not say what it runs.
  await register('older', null)
  expect(await find()).toEqual([])
  await database.pool.query('DELETE FROM sagapost.processes')
})

it('[G14] a process registers the sagas it runs, children included, and counts until it stops', async () => {
  const parcels = saga<{ order: number }>('parcels').step('wait', { run: () => 0 })
  const orders = saga<{ order: number }>('orders').child('parcels', {
    saga: parcels,
    input: ({ input }) => input,
  })
  const parts = await startParts({
    databaseUrl: database.url,
    config: readConfig({ DATABASE_URL: database.url }),
    only: ['sagas'],
    sagas: { definitions: [orders] },
    log: silent(),
    metrics: createMetrics(),
  })
  const said = async () => (await database.pool.query('SELECT saga_definitions FROM sagapost.processes')).rows
  try {
    await expect.poll(said).toEqual([{ saga_definitions: ['orders@1', 'parcels@1'] }])
    expect(await find()).toEqual([])
  } finally {
    await parts.stop()
  }
  expect(await said()).toEqual([])
})

it('[G14, S21] they are searched by definition, and not saga by saga', async () => {
  await insertSaga(database.pool, { definition: 'crowd' })
  await database.pool.query(
    `INSERT INTO sagapost.saga_instances
     SELECT made.* FROM sagapost.saga_instances AS saga, generate_series(1, 20000) AS n,
       jsonb_populate_record(saga, jsonb_build_object('id', md5(n::text)::uuid, 'wake_at', sagapost.now() + interval '1 day')) AS made
     WHERE saga.definition_id = 'crowd'`,
  )
  await database.pool.query('ANALYZE sagapost.saga_instances')
  const read = countRowsRead(
    database.as('saga_readonly_role'),
    selectSagasWithoutProcess,
    [1_000, 10_000, 30_000],
  )
  expect(await read).toBeLessThan(100)
})
