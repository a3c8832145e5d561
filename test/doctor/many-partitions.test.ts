import { beforeAll, describe, expect, it } from 'vitest'
import { loadMigrations, migrationsFolder } from '../../src/database/index.js'
import { findViolations } from '../../src/doctor/check-invariants.js'
import { checkInvariants, examineSystem, snapshotTerminals } from '../../src/doctor/index.js'
import { readThrough } from '../../src/doctor/read-snapshot.js'
import { EXAMPLES_MAX } from '../../src/doctor/violation.js'
import { saga } from '../../src/sagas/index.js'
import { checkAgainstReceiver } from '../support/check-against-receiver.js'
import { countDeliveries } from '../support/count-deliveries.js'
import { useDatabase } from '../support/database.js'
import { insertDeliveryWithoutEvent, insertSubscription } from '../support/fixtures.js'
import { createReceiverLog } from '../support/receiver-log.js'
import { runSaga } from '../support/sagas.js'
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
    look: ({ pool }) => checkAgainstReceiver(pool, { published: new Map(), log: createReceiverLog() }),
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

let sagaId: string
let few: Map<string, Sample['locks']>
let many: Map<string, Sample['locks']>
beforeAll(async () => {
  await insertSubscription(database.pool, { type: 'a' })
  const publishing = saga('told', { publish: true }).step('one', { run: () => 1 })
  sagaId = await runSaga(database.as('saga_app_role'), publishing, undefined)
  await growTo(FEW)
  few = await sampleAll()
  await growTo(MANY)
  many = await sampleAll()
}, 120_000)

const guard = 'ALTER TABLE sagapost.webhook_delivery_sagas'

describe('with many partitions', () => {
  it.each(looks)('[O6] no statement of $name leaves more locks than with few', ({ name }) => {
    const grown = [...(many.get(name) ?? [])]
      .map(([sql, locks]) => ({ sql, locks, before: few.get(name)?.get(sql) ?? 0 }))
      .filter(({ locks, before }) => locks > before)
    expect(many.get(name)?.size).toBeGreaterThan(0)
    expect(grown).toEqual([])
  })

  it('[E2, R2] no range is left out, and what is wrong in each adds up', async () => {
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(`${guard} DISABLE TRIGGER delivery_fits_subscription`)
      // Deliveries of events that are not there: of the first id and the last one of each range.
      const { rows } = await client.query<{ id: string }>(
        `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id)
         SELECT range * $2::bigint + id, 1 FROM generate_series(0, $1 - 1) AS range, unnest(ARRAY[0, $2 - 1]) AS id
         ORDER BY 1 RETURNING id`,
        [MANY, RANGE_IDS],
      )
      const found = await findViolations(readThrough(client))
      expect(found).toEqual([
        expect.objectContaining({
          invariant: 'deliveries_refer_to_what_exists',
          detail: expect.stringMatching(
            new RegExp(`^${MANY * 2} ×, such as ${rows[0]?.id}: event 0 is there: f`),
          ),
        }),
      ])
      expect(found[0]?.ids).toHaveLength(EXAMPLES_MAX)
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('[R1] queue entries beyond the last partition are checked too', async () => {
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query(
        `INSERT INTO sagapost.event_routing_queue (event_ids, event_type) VALUES (ARRAY[$1::bigint], 'a')`,
        [(MANY + 5) * RANGE_IDS],
      )
      expect(await findViolations(readThrough(client))).toEqual([
        expect.objectContaining({ invariant: 'queued_event_exists' }),
      ])
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('[G6] the history of a saga may lie in several ranges', async () => {
    const client = await database.pool.connect()
    const unpublished = async () =>
      (await findViolations(readThrough(client))).filter(
        ({ invariant }) => invariant === 'published_saga_has_its_events',
      )
    try {
      await client.query('BEGIN')
      await client.query('ALTER TABLE sagapost.events DISABLE TRIGGER USER')
      const last = '(SELECT max(id) FROM sagapost.events WHERE correlation_id = $1)'
      await client.query(`UPDATE sagapost.events SET id = id + $2 WHERE id = ${last}`, [
        sagaId,
        (MANY - 10) * RANGE_IDS,
      ])
      expect(await unpublished()).toEqual([])
      await client.query(`DELETE FROM sagapost.events WHERE id = ${last}`, [sagaId])
      expect(await unpublished()).toEqual([expect.objectContaining({ ids: [sagaId] })])
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })

  it('[E2] all ranges are checked in the same snapshot', async () => {
    const lastRange = (MANY - 1) * RANGE_IDS
    let looked = 0
    const sample = sampleLocks(database.as('saga_readonly_role'), async (sql) => {
      if (!sql.includes('webhook_delivery_sagas') || looked++ > 0) return
      await insertDeliveryWithoutEvent(database.pool, String(lastRange))
    })
    expect(await checkInvariants(sample.pool)).toEqual([])
    expect(looked).toBeGreaterThan(1)
    expect(await checkInvariants(database.as('saga_readonly_role'))).toEqual([
      expect.objectContaining({ invariant: 'deliveries_refer_to_what_exists' }),
    ])
  })
})
