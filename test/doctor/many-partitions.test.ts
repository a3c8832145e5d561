import { beforeAll, describe, expect, it } from 'vitest'
import { loadMigrations, migrationsFolder } from '../../src/database/index.js'
import {
  checkAgainstReceiver,
  checkInvariants,
  countDeliveries,
  createReceiverLog,
  examineSystem,
  snapshotTerminals,
} from '../../src/doctor/index.js'
import { useDatabase } from '../support/database.js'
import { sampleLocks } from '../support/sample-locks.js'

const RANGE_IDS = 1_000_000
const FEW = 20
const MANY = 60

const database = useDatabase()

const growingTables = ['events', 'webhook_delivery_sagas', 'webhook_delivery_jobs', 'dead_letters']

/** So many ranges, the newest event in the third from the end, as when Sagapost makes them ahead. */
async function growTo(ranges: number): Promise<void> {
  await database.pool.query(
    `SELECT sagapost.make_partition(name, range * $3::bigint, (range + 1) * $3::bigint)
     FROM generate_series((SELECT max(to_id) / $3 FROM sagapost.partitions), $1 - 1) AS range, unnest($2::text[]) AS name`,
    [ranges, growingTables, RANGE_IDS],
  )
  await database.pool.query(`SELECT setval('sagapost.events_id_seq', $1)`, [(ranges - 3) * RANGE_IDS + 5])
  await database.pool.query(`INSERT INTO sagapost.events (event_type, payload) VALUES ('a', '{}')`)
}

type Sample = ReturnType<typeof sampleLocks>
const looks: { name: string; look: (sample: Sample) => Promise<unknown> }[] = [
  {
    name: 'checkInvariants',
    look: ({ pool }) =>
      checkInvariants(pool, { settled: true, routes: [{ eventType: 'a', subscriptionId: '1' }] }),
  },
  { name: 'countDeliveries', look: ({ pool }) => countDeliveries(pool) },
  { name: 'snapshotTerminals', look: ({ pool }) => snapshotTerminals(pool) },
  {
    name: 'checkAgainstReceiver',
    look: ({ pool }) =>
      checkAgainstReceiver(pool, { published: new Map(), log: createReceiverLog() }),
  },
  {
    name: 'examineSystem',
    look: async (sample) =>
      examineSystem({
        as: (role, work) => work(role === 'saga_readonly_role' ? sample.pool : database.as(role)),
        migrations: await loadMigrations(migrationsFolder),
      }),
  },
]

async function sampleAll(): Promise<Map<string, Sample['locks']>> {
  const found = new Map<string, Sample['locks']>()
  for (const { name, look } of looks) {
    const sample = sampleLocks(database.as('saga_readonly_role'))
    await look(sample)
    found.set(name, sample.locks)
  }
  return found
}

let few: Map<string, Sample['locks']>
let many: Map<string, Sample['locks']>
beforeAll(async () => {
  await database.pool.query(`
    INSERT INTO sagapost.saga_instances (id, definition_id, publishes, event_count) VALUES ('1', 'a', true, 0)`).catch(() => {})
  await growTo(FEW)
  few = await sampleAll()
  await growTo(MANY)
  many = await sampleAll()
}, 120_000)

describe('with many partitions', () => {
  it.each(looks)('[O6] no statement of $name locks more than with few', ({ name }) => {
    const grown = [...(many.get(name) ?? [])]
      .map(([sql, locks]) => ({ sql, locks, before: few.get(name)?.get(sql) ?? 0 }))
      .filter(({ locks, before }) => locks > before)
    expect(many.get(name)?.size).toBeGreaterThan(0)
    expect(grown).toEqual([])
  })
})
