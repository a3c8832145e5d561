import { readFileSync } from 'node:fs'
import type pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { findViolations, type InvariantOptions } from '../../src/doctor/check-invariants.js'
import { checkInvariants, compareTerminals, invariants, snapshotTerminals } from '../../src/doctor/index.js'
import { readThrough } from '../../src/doctor/read-snapshot.js'
import { readTerminals } from '../../src/doctor/snapshot-terminals.js'
import { countDeliveries } from '../support/count-deliveries.js'
import { useDatabase } from '../support/database.js'
import { sagaBreaks } from './saga-breaks.js'
import { type Staged, stageDeliveries } from './stage-deliveries.js'

const database = useDatabase()
let staged: Staged
beforeAll(async () => {
  staged = await stageDeliveries(database)
})

/** With every guard off, in a transaction that is rolled back. Looked at as the read-only role, like a real check. */
async function breaking<T>(sql: string, values: unknown[], look: (client: pg.PoolClient) => Promise<T>) {
  const client = await database.pool.connect()
  try {
    await client.query('BEGIN')
    await client.query(`
      ALTER TABLE sagapost.events DISABLE TRIGGER USER;
      ALTER TABLE sagapost.webhook_delivery_sagas DISABLE TRIGGER USER;
      ALTER TABLE sagapost.webhook_delivery_jobs DISABLE TRIGGER USER;
      ALTER TABLE sagapost.dead_letters DISABLE TRIGGER USER;
      DROP INDEX sagapost.uniq_saga_event_subscription, sagapost.uniq_saga_requeued_from, sagapost.uniq_job_saga_attempt,
        sagapost.uniq_job_saga_active, sagapost.uniq_dead_saga`)
    const { rowCount } = await client.query(sql, values)
    expect(rowCount, 'the break changes something').toBeGreaterThan(0)
    await client.query('SET LOCAL ROLE saga_readonly_role')
    return await look(client)
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}

const violationsAfter = (sql: string, values: unknown[], options?: InvariantOptions) =>
  breaking(sql, values, (client) => findViolations(readThrough(client), options))

const routes = () => [{ eventType: 'stage', subscriptionId: staged.subscriptionId }]

describe('healthy data', () => {
  it('[S5, S9, S13, D3, R1] breaks no invariant at any stage of a delivery, nor under the read-only role', async () => {
    expect(await checkInvariants(database.as('saga_readonly_role'), { routes: routes() })).toEqual([])
  })

  it('[S5] accepted is the sum of completed, dead and open', async () => {
    expect(await countDeliveries(database.as('saga_readonly_role'))).toEqual({
      events: 9,
      unrouted: 1,
      accepted: 9,
      completed: 2,
      deadLettered: 1,
      open: 6,
    })
  })

  it('[R1, S5] is not settled while an event waits to be routed or a delivery is open', async () => {
    const found = await checkInvariants(database.as('saga_readonly_role'), { settled: true })
    expect(found.map(({ invariant, detail }) => [invariant, detail.split(' ')[0]])).toEqual([
      ['nothing_left_to_route', '1'],
      ['nothing_left_open', '6'],
    ])
  })

  it('[S11, J12] has the same final rows from one check to the next, and more of them later', async () => {
    const before = await snapshotTerminals(database.as('saga_readonly_role'))
    const after = await snapshotTerminals(database.as('saga_readonly_role'))
    expect([...before.rows.keys()].filter((key) => key.startsWith('delivery'))).toHaveLength(3)
    expect(compareTerminals(before, after)).toEqual([])
  })
})

/** Each way to break the data, and the invariant that must see it; more may follow from the same break. */
const breaks: { invariant: string; by: string; sql: string; values: () => unknown[] }[] = [
  {
    invariant: 'one_saga_per_event_and_subscription',
    by: 'a second saga for the same pair',
    sql: `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id)
          SELECT event_id, subscription_id FROM sagapost.webhook_delivery_sagas WHERE id = $1`,
    values: () => [staged.completed.deliveryId],
  },
  {
    invariant: 'deliveries_refer_to_what_exists',
    by: 'an event that is gone',
    sql: 'DELETE FROM sagapost.events WHERE id = $1',
    values: () => [staged.completed.eventId],
  },
  {
    invariant: 'deliveries_refer_to_what_exists',
    by: 'a subscription that never was',
    sql: 'UPDATE sagapost.webhook_delivery_sagas SET subscription_id = 999 WHERE id = $1',
    values: () => [staged.pending.deliveryId],
  },
  {
    invariant: 'queued_event_exists',
    by: 'a queued event that is not stored',
    sql: `INSERT INTO sagapost.event_routing_queue (event_ids, event_type) VALUES ('{999}', 'stage')`,
    values: () => [],
  },
  {
    invariant: 'queued_event_exists',
    by: 'a queued event that is not stored, in a row with one that is',
    sql: `UPDATE sagapost.event_routing_queue SET event_ids = event_ids || 999::bigint WHERE $1 = ANY (event_ids)`,
    values: () => [staged.unroutedEventId],
  },
  {
    invariant: 'queued_event_exists',
    by: 'an event queued under another type',
    sql: `UPDATE sagapost.event_routing_queue SET event_type = 'other' WHERE $1 = ANY (event_ids)`,
    values: () => [staged.unroutedEventId],
  },
  {
    invariant: 'set_aside_event_exists',
    by: 'an event that was set aside and is not stored',
    sql: `INSERT INTO sagapost.set_aside_events (event_id, event_type, error_code, reason) VALUES (999, 'stage', '23514', '')`,
    values: () => [],
  },
  {
    invariant: 'set_aside_event_exists',
    by: 'an event set aside under another type',
    sql: `INSERT INTO sagapost.set_aside_events (event_id, event_type, error_code, reason) VALUES ($1, 'other', '23514', '')`,
    values: () => [staged.unroutedEventId],
  },
  {
    invariant: 'routed_or_queued',
    by: 'an event that left the queue unrouted',
    sql: 'DELETE FROM sagapost.event_routing_queue WHERE $1 = ANY (event_ids)',
    values: () => [staged.unroutedEventId],
  },
  {
    invariant: 'routed_or_queued',
    by: 'an event that was never queued',
    sql: `INSERT INTO sagapost.events (event_type, payload) VALUES ('stage', '{}')`,
    values: () => [],
  },
  {
    invariant: 'routed_or_queued',
    by: 'a delivery that is gone',
    sql: 'DELETE FROM sagapost.webhook_delivery_sagas WHERE id = $1',
    values: () => [staged.pending.deliveryId],
  },
  {
    invariant: 'routed_up_to_place',
    by: 'a place beyond a subscription that has no delivery',
    sql: `UPDATE sagapost.event_routing_queue SET id = id + (1::bigint << 52), routed_events = 0, last_subscription_id = 1000
          WHERE $1 = ANY (event_ids)`,
    values: () => [staged.unroutedEventId],
  },
  {
    invariant: 'in_progress_has_one_open_job',
    by: 'InProgress without a job',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET status = 'InProgress' WHERE id = $1`,
    values: () => [staged.pending.deliveryId],
  },
  {
    invariant: 'in_progress_has_one_open_job',
    by: 'a new job while a result waits',
    sql: `INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, attempt)
          SELECT id, event_id, subscription_id, 2 FROM sagapost.webhook_delivery_sagas WHERE id = $1`,
    values: () => [staged.reported.deliveryId],
  },
  {
    invariant: 'in_progress_has_one_open_job',
    by: 'a result that was counted and moved nothing',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET attempt_count = 1 WHERE id = $1`,
    values: () => [staged.reported.deliveryId],
  },
  {
    invariant: 'one_active_job',
    by: 'a second active job',
    sql: `INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, attempt)
          SELECT id, event_id, subscription_id, 2 FROM sagapost.webhook_delivery_sagas WHERE id = $1`,
    values: () => [staged.leased.deliveryId],
  },
  {
    invariant: 'only_in_progress_has_open_job',
    by: 'a job of a dead delivery',
    sql: `INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, attempt)
          SELECT id, event_id, subscription_id, 3 FROM sagapost.webhook_delivery_sagas WHERE id = $1`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'only_in_progress_has_open_job',
    by: 'a job before its time',
    sql: `INSERT INTO sagapost.webhook_delivery_jobs (saga_id, event_id, subscription_id, attempt)
          SELECT id, event_id, subscription_id, 2 FROM sagapost.webhook_delivery_sagas WHERE id = $1`,
    values: () => [staged.waiting.deliveryId],
  },
  {
    invariant: 'only_in_progress_has_open_job',
    by: 'a Completed delivery with a result that nobody counted',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET attempt_count = 0 WHERE id = $1`,
    values: () => [staged.completed.deliveryId],
  },
  {
    invariant: 'only_in_progress_has_open_job',
    by: 'a job that is offered again after it was counted',
    sql: `UPDATE sagapost.webhook_delivery_jobs
          SET status = 'Pending', error_code = NULL, response_status = NULL, finished_at = NULL WHERE saga_id = $1`,
    values: () => [staged.waiting.deliveryId],
  },
  {
    invariant: 'open_job_has_no_result',
    by: 'a job that was put back with its answer',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET status = 'Pending', response_status = 503 WHERE saga_id = $1`,
    values: () => [staged.leased.deliveryId],
  },
  {
    invariant: 'pending_is_untouched',
    by: 'Pending with an attempt',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET attempt_count = 1 WHERE id = $1`,
    values: () => [staged.pending.deliveryId],
  },
  {
    invariant: 'pending_is_untouched',
    by: 'Pending with a job',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET status = 'Pending' WHERE id = $1`,
    values: () => [staged.offered.deliveryId],
  },
  {
    invariant: 'work_is_within_reach',
    by: 'a retry that never comes',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET next_attempt_at = 'infinity' WHERE id = $1`,
    values: () => [staged.waiting.deliveryId],
  },
  {
    invariant: 'work_is_within_reach',
    by: 'a lease without an end',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET lease_until = 'infinity' WHERE saga_id = $1`,
    values: () => [staged.leased.deliveryId],
  },
  {
    invariant: 'work_is_within_reach',
    by: 'a job that is held for another subscription',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET lease_until = sagapost.held_until(subscription_id + 1) WHERE saga_id = $1`,
    values: () => [staged.offered.deliveryId],
  },
  {
    invariant: 'held_delivery_is_let_go',
    by: 'a job that is held though its subscription is active',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET lease_until = sagapost.held_until(subscription_id) WHERE saga_id = $1`,
    values: () => [staged.offered.deliveryId],
  },
  {
    invariant: 'attempt_count_is_applied_results',
    by: 'a result that was counted twice',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET attempt_count = attempt_count + 1 WHERE id = $1`,
    values: () => [staged.retried.deliveryId],
  },
  {
    invariant: 'attempt_count_is_applied_results',
    by: 'a counted attempt whose job is gone',
    sql: `DELETE FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1 AND attempt = 1`,
    values: () => [staged.retried.deliveryId],
  },
  {
    invariant: 'new_results_are_queued',
    by: 'a new result that left the queue and was not counted',
    sql: `DELETE FROM sagapost.delivery_result_queue WHERE id IN (
            SELECT queue_id FROM sagapost.unapplied_results WHERE saga_id = $1)`,
    values: () => [staged.reported.deliveryId],
  },
  {
    invariant: 'new_results_are_queued',
    by: 'a new result that was never queued',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed', finished_at = now() WHERE saga_id = $1`,
    values: () => [staged.leased.deliveryId],
  },
  {
    invariant: 'new_results_are_queued',
    by: 'a new result queued under the bounds of other events',
    sql: `UPDATE sagapost.delivery_result_queue
          SET first_event_id = first_event_id + 1, last_event_id = last_event_id + 1 WHERE first_event_id = $1`,
    values: () => [staged.reported.eventId],
  },
  {
    invariant: 'new_results_are_queued',
    by: 'a new result in two rows',
    sql: `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
          SELECT job_ids, event_ids, first_event_id, last_event_id FROM sagapost.delivery_result_queue WHERE first_event_id = $1`,
    values: () => [staged.reported.eventId],
  },
  {
    invariant: 'new_results_are_queued',
    by: 'a new result twice in one row',
    sql: `UPDATE sagapost.delivery_result_queue SET job_ids = job_ids || job_ids, event_ids = event_ids || event_ids WHERE first_event_id = $1`,
    values: () => [staged.reported.eventId],
  },
  {
    invariant: 'new_results_are_queued',
    by: 'a result that was counted and is still queued',
    sql: `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
          SELECT array_agg(id), array_agg(event_id), min(event_id), max(event_id) FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1`,
    values: () => [staged.completed.deliveryId],
  },
  {
    invariant: 'new_results_are_queued',
    by: 'a job in the queue that has no result yet',
    sql: `INSERT INTO sagapost.delivery_result_queue (job_ids, event_ids, first_event_id, last_event_id)
          SELECT array_agg(id), array_agg(event_id), min(event_id), max(event_id) FROM sagapost.webhook_delivery_jobs WHERE saga_id = $1`,
    values: () => [staged.leased.deliveryId],
  },
  {
    invariant: 'completed_ends_with_success',
    by: 'a Completed delivery that keeps its error',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET final_error_code = 'http_500' WHERE id = $1`,
    values: () => [staged.completed.deliveryId],
  },
  {
    invariant: 'completed_ends_with_success',
    by: 'Completed after a failure',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET status = 'Completed', final_error_code = NULL WHERE id = $1`,
    values: () => [staged.waiting.deliveryId],
  },
  {
    invariant: 'completed_ends_with_success',
    by: 'Completed with nothing sent',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET status = 'Completed' WHERE id = $1`,
    values: () => [staged.pending.deliveryId],
  },
  {
    invariant: 'success_completes',
    by: 'a success that was not heeded',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET status = 'PendingRetry', final_error_code = 'http_500' WHERE id = $1`,
    values: () => [staged.completed.deliveryId],
  },
  {
    invariant: 'success_completes',
    by: 'two successes',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed' WHERE saga_id = $1 AND status = 'Failed'`,
    values: () => [staged.retried.deliveryId],
  },
  {
    invariant: 'failure_is_recorded',
    by: 'another error than the last attempt had',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET final_error_code = 'timeout' WHERE id = $1`,
    values: () => [staged.waiting.deliveryId],
  },
  {
    invariant: 'failure_is_recorded',
    by: 'a dead delivery whose last attempt succeeded',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET status = 'Completed' WHERE saga_id = $1 AND attempt = 2`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'attempts_without_gaps',
    by: 'a gap',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET attempt = 3 WHERE saga_id = $1 AND attempt = 2`,
    values: () => [staged.retried.deliveryId],
  },
  {
    invariant: 'attempts_without_gaps',
    by: 'the same number twice',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET attempt = 1 WHERE saga_id = $1 AND attempt = 2`,
    values: () => [staged.retried.deliveryId],
  },
  {
    invariant: 'jobs_have_their_delivery',
    by: 'a job for another subscription',
    sql: `UPDATE sagapost.webhook_delivery_jobs SET subscription_id = 999 WHERE saga_id = $1`,
    values: () => [staged.leased.deliveryId],
  },
  {
    invariant: 'jobs_have_their_delivery',
    by: 'a delivery that was deleted',
    sql: `DELETE FROM sagapost.webhook_delivery_sagas WHERE id = $1`,
    values: () => [staged.completed.deliveryId],
  },
  {
    invariant: 'dead_saga_has_one_dead_letter',
    by: 'a dead delivery without a dead letter',
    sql: `DELETE FROM sagapost.dead_letters WHERE saga_id = $1`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'dead_saga_has_one_dead_letter',
    by: 'two dead letters',
    sql: `INSERT INTO sagapost.dead_letters (saga_id, event_id, subscription_id, event_type, payload_snapshot, attempt_count)
          SELECT saga_id, event_id, subscription_id, event_type, payload_snapshot, attempt_count
          FROM sagapost.dead_letters WHERE saga_id = $1`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'dead_letter_has_dead_saga',
    by: 'a dead letter of a delivery that lives',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET status = 'PendingRetry' WHERE id = $1`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'dead_letter_payload_is_the_events',
    by: 'the same JSON with other spaces',
    sql: `UPDATE sagapost.dead_letters SET payload_snapshot = (payload_snapshot::text || ' ')::json WHERE saga_id = $1`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'dead_letter_tells_the_end',
    by: 'the number of another job',
    sql: `UPDATE sagapost.dead_letters SET job_id = job_id - 1 WHERE saga_id = $1`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'dead_letter_tells_the_end',
    by: 'another count of attempts',
    sql: `UPDATE sagapost.dead_letters SET attempt_count = 5 WHERE saga_id = $1`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'requeued_from_its_dead_letter',
    by: 'a requeue of nothing',
    sql: `UPDATE sagapost.webhook_delivery_sagas SET requeued_from = 999 WHERE requeued_from IS NOT NULL AND event_id = $1`,
    values: () => [staged.dead.eventId],
  },
  {
    invariant: 'one_requeue_per_dead_letter',
    by: 'a dead letter that was taken up twice',
    sql: `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id, requeued_from)
          SELECT event_id, subscription_id, id FROM sagapost.dead_letters WHERE saga_id = $1`,
    values: () => [staged.dead.deliveryId],
  },
  {
    invariant: 'every_route_has_its_saga',
    by: 'an event that left the queue unrouted',
    sql: 'DELETE FROM sagapost.event_routing_queue WHERE $1 = ANY (event_ids)',
    values: () => [staged.unroutedEventId],
  },
  {
    invariant: 'no_saga_without_route',
    by: 'a delivery that nobody subscribed to',
    sql: `INSERT INTO sagapost.webhook_delivery_sagas (event_id, subscription_id) VALUES ($1, 999)`,
    values: () => [staged.completed.eventId],
  },
]

describe('broken data', () => {
  const rulesOf = (name: string) => invariants.find((each) => each.name === name)?.rules.join(', ')
  it.each(breaks.map((each) => ({ ...each, rules: rulesOf(each.invariant) })))(
    '[$rules] $invariant sees $by',
    async ({ invariant, sql, values }) => {
      const found = await violationsAfter(sql, values(), { routes: routes() })
      expect(found.map((violation) => violation.invariant)).toContain(invariant)
      const violation = found.find((each) => each.invariant === invariant)
      expect(violation).toMatchObject({
        detail: expect.stringMatching(/^1 ×, such as \d+: /),
        rules: expect.anything(),
      })
      expect(violation?.ids).toHaveLength(1)
    },
  )

  it('[S5, S22] unfinished work is named when everything should be settled', async () => {
    const found = await violationsAfter(
      `UPDATE sagapost.webhook_delivery_sagas SET updated_at = now() WHERE id = $1`,
      [staged.pending.deliveryId],
      { settled: true },
    )
    expect(found.find(({ invariant }) => invariant === 'nothing_left_open')?.ids).toContain(
      staged.pending.deliveryId,
    )
  })

  it('[S15, S17] sees an open delivery of a deleted subscription, when all has ended', async () => {
    const remove = `UPDATE sagapost.subscriptions SET deleted_at = sagapost.now(), active = false WHERE id = $1`
    const found = await violationsAfter(remove, [staged.subscriptionId], { settled: true })
    const named = found.find(({ invariant }) => invariant === 'deleted_subscription_has_no_open_delivery')
    expect(named?.ids).toContain(staged.waiting.deliveryId)
    expect(named?.ids).not.toContain(staged.completed.deliveryId)
    expect(
      (await violationsAfter(remove, [staged.subscriptionId])).map(({ invariant }) => invariant),
    ).toEqual([])
  })

  it('[U5] does not count what is held for an inactive subscription as lost, when all has ended', async () => {
    const hold = `
      WITH off AS (UPDATE sagapost.subscriptions SET active = false WHERE id = $1 RETURNING id)
      UPDATE sagapost.webhook_delivery_jobs AS job SET lease_until = sagapost.held_until(off.id)
      FROM off WHERE job.subscription_id = off.id AND job.status = 'Pending'`
    const found = await violationsAfter(hold, [staged.subscriptionId], { settled: true })
    const open = found.find(({ invariant }) => invariant === 'nothing_left_open')
    expect(open?.ids).toContain(staged.leased.deliveryId)
    expect(open?.ids).not.toContain(staged.offered.deliveryId)
    expect(found.map(({ invariant }) => invariant)).not.toContain('work_is_within_reach')
  })

  it('names at most ten examples, and reports how many there are', async () => {
    const [violation] = await violationsAfter(
      `INSERT INTO sagapost.event_routing_queue (event_ids, event_type) SELECT array_agg(id), 'stage' FROM generate_series(1000, 1099) AS id`,
      [],
    )
    expect(violation).toMatchObject({
      invariant: 'queued_event_exists',
      detail: expect.stringMatching(/^100 ×/),
    })
    expect(violation?.ids).toHaveLength(10)
  })

  it('[S4, S17] a result that left the queue is put back as the docs describe', async () => {
    const page = readFileSync(new URL('../../docs/operating/doctor.md', import.meta.url), 'utf8')
    const sample = /^```sql\n(.*?)^```/ms.exec(page)?.[1] ?? ''
    const { deliveryId } = staged.reported
    const left = await breaking('DELETE FROM sagapost.delivery_result_queue', [], async (client) => {
      const before = await findViolations(readThrough(client))
      await client.query('RESET ROLE')
      await client.query(sample.replace('IN (42)', `IN (${deliveryId})`))
      return { before, after: await findViolations(readThrough(client)) }
    })
    expect(left).toEqual({
      before: [expect.objectContaining({ invariant: 'new_results_are_queued', ids: [deliveryId] })],
      after: [],
    })
  })

  it('every invariant has a break that it detects', () => {
    const seen = new Set([
      ...breaks.map(({ invariant }) => invariant),
      'nothing_left_to_route',
      'nothing_left_open',
      'deleted_subscription_has_no_open_delivery',
      ...sagaBreaks.map(({ invariant }) => invariant),
      'no_saga_left_open',
    ])
    expect(invariants.map(({ name }) => name).filter((name) => !seen.has(name))).toEqual([])
  })

  const frozen: { what: string; sql: string; id: () => string; detail: RegExp }[] = [
    {
      what: 'a delivery whose updated_at moved',
      sql: `UPDATE sagapost.webhook_delivery_sagas SET updated_at = updated_at + interval '1 microsecond' WHERE id = $1`,
      id: () => staged.completed.deliveryId,
      detail: /delivery \d+: was final and has changed/,
    },
    {
      what: 'a job that lost its response',
      sql: `UPDATE sagapost.webhook_delivery_jobs SET response_status = NULL WHERE saga_id = $1`,
      id: () => staged.completed.deliveryId,
      detail: /job \d+: was final and has changed/,
    },
    {
      what: 'a dead letter that is gone',
      sql: `DELETE FROM sagapost.dead_letters WHERE saga_id = $1`,
      id: () => staged.dead.deliveryId,
      detail: /dead letter \d+: was final and is gone/,
    },
    {
      what: "an event's payload",
      sql: `UPDATE sagapost.events SET payload = '{}' WHERE id = $1`,
      id: () => staged.leased.eventId,
      detail: /event \d+: was final and has changed/,
    },
    {
      what: 'a delivery that lives again',
      sql: `UPDATE sagapost.webhook_delivery_sagas SET status = 'PendingRetry' WHERE id = $1`,
      id: () => staged.dead.deliveryId,
      detail: /delivery \d+: was final and is gone/,
    },
  ]
  it.each(frozen)('[S11, J12, E2, D2] the next snapshot sees $what', async ({ sql, id, detail }) => {
    const before = await snapshotTerminals(database.as('saga_readonly_role'))
    const after = await breaking(sql, [id()], (client) => readTerminals(readThrough(client)))
    expect(compareTerminals(before, after)).toEqual([
      expect.objectContaining({ invariant: 'final_rows_are_frozen', detail: expect.stringMatching(detail) }),
    ])
  })
})

describe('ranges that retention has removed from one table and not yet from the others', () => {
  it('[D3] are not checked', async () => {
    const before = await snapshotTerminals(database.as('saga_readonly_role'))
    const client = await database.pool.connect()
    try {
      await client.query('BEGIN')
      await client.query('ALTER TABLE sagapost.dead_letters DETACH PARTITION sagapost.dead_letters_from_0')
      expect(await findViolations(readThrough(client), { routes: routes() })).toEqual([])
      expect(compareTerminals(before, await readTerminals(readThrough(client)))).toEqual([])
    } finally {
      await client.query('ROLLBACK')
      client.release()
    }
  })
})
