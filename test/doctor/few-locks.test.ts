import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findFreePort, type Server, startServer } from '../../faults/system/start-server.js'
import { createRolePool, type DatabaseRole, outageOf } from '../../src/database/index.js'
import { examineLocks } from '../../src/doctor/examine-locks.js'
import { checkInvariants, explainFailure, snapshotTerminals } from '../../src/doctor/index.js'
import { explainError } from '../../src/http/explain-error.js'
import { useOwnPostgres } from '../support/own-postgres.js'

const RANGES = 60
/** As small as PostgreSQL lets it be: room for some 400 locks. */
const few = { fsync: 'off', max_locks_per_transaction: '10', max_connections: '20' }

const postgres = useOwnPostgres()
let server: Server
const pools: pg.Pool[] = []

function as(role: DatabaseRole): pg.Pool {
  const pool = createRolePool({ databaseUrl: server.url, role, connectionsMax: 1 })
  pools.push(pool)
  return pool
}

beforeAll(async () => {
  await postgres.admin.query(
    `SELECT sagapost.make_partition(name, range * 1000000, (range + 1) * 1000000)
     FROM generate_series((SELECT max(to_id) / 1000000 FROM sagapost.partitions), $1 - 1) AS range,
          unnest(sagapost.growing_tables()) AS name`,
    [RANGES],
  )
  await postgres.server.stop()
  server = await startServer(postgres.cluster, await findFreePort(), few)
}, 120_000)
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.end()))
  await server.stop()
})

it('[O6] the invariants are checked where the locks of all partitions do not fit', async () => {
  const pool = as('saga_readonly_role')
  expect(await checkInvariants(pool, { settled: true })).toEqual([])
  expect((await snapshotTerminals(pool)).rows.size).toBe(0)
})

it('[O6] the doctor reports that too few locks fit, and what to set', async () => {
  expect(await examineLocks(as('saga_readonly_role'))).toEqual([
    {
      check: 'locks',
      severity: 'attention',
      code: 'lock_headroom_low',
      detail: expect.stringMatching(
        /^a statement over all partitions takes 1\d{3} locks, and the settings of PostgreSQL make room for 200$/,
      ),
      remedy: expect.stringMatching(
        /^Set max_locks_per_transaction to at least \d+ in postgresql.conf and restart PostgreSQL/,
      ),
    },
  ])
})

it('[O6] a statement whose locks do not fit is answered with a code and a remedy', async () => {
  const error = await as('saga_readonly_role')
    .query(`SELECT FROM sagapost.webhook_delivery_sagas AS saga
       JOIN sagapost.webhook_delivery_jobs AS job ON job.saga_id = saga.id
       JOIN sagapost.events AS event ON event.id = saga.event_id
       JOIN sagapost.dead_letters AS letter ON letter.saga_id = saga.id`)
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: '53200' })
  expect(outageOf(error)).toBe('database_locks_exhausted')
  expect(explainError(error)).toMatchObject({ status: 503, code: 'database_locks_exhausted' })
  expect(explainFailure('backlog', error)).toMatchObject({
    severity: 'failing',
    code: 'database_locks_exhausted',
    remedy: expect.stringMatching(/max_locks_per_transaction/),
  })
})

it('[O6] running out of memory is not reported as that', () => {
  const error = Object.assign(new pg.DatabaseError('out of memory', 1, 'error'), {
    ...{ severity: 'ERROR', code: '53200', routine: 'AllocSetAlloc' },
  })
  expect(outageOf(error)).toBe('database_unreachable')
})
