import type pg from 'pg'
import { FIRST_EVENT_ID, inEachSpan } from '../../src/database/index.js'
import { inSnapshot, type SnapshotReader } from '../../src/doctor/read-snapshot.js'
import { readPages, readSpans } from '../../src/doctor/read-spans.js'
import { type Breaches, collectBreaches, type Violation } from '../../src/doctor/violation.js'
import { eventTimeUs, webhookIdOf } from '../../src/model/index.js'
import type { ReceiverLog } from './receiver-log.js'

// Span by span, page by page; the payload itself stays where it is.
const eventHashes = `
  DECLARE pages NO SCROLL CURSOR FOR
  SELECT id, ${eventTimeUs} AS at_us, encode(sha256(convert_to(payload::text, 'UTF8')), 'hex') AS sha256
  FROM sagapost.events AS event WHERE id >= $1 AND id < $2`

// How many requests an attempt can have made: one whose report was accepted, one for every lease that was lost with
// its report, one that is under way. A lease that was given back otherwise made none.
const attempts = `
  DECLARE pages NO SCROLL CURSOR FOR
  SELECT id, event_id, subscription_id, attempt, status = 'Completed' OR response_status IS NOT NULL AS answered,
         lease_resets + CASE WHEN status = 'Leased' THEN 1
                             WHEN status IN ('Completed', 'Failed') AND error_code IS DISTINCT FROM 'lease_expired' THEN 1
                             ELSE 0 END AS leases
  FROM sagapost.webhook_delivery_jobs
  WHERE event_id >= $1 AND event_id < $2`

export interface ReceiverEvidence {
  /** The acknowledged events, by id: the sha256 of the payload as it was handed in. */
  published: ReadonlyMap<string, string>
  /** What the receivers of the watched subscriptions got. Other subscriptions' deliveries are left alone. */
  log: ReceiverLog
  /**
   * How many leases of an attempt the database may have forgotten: a claim waits for no disk, so a crash takes it back,
   * and the job is claimed again though its request was made. Absent: the server has not crashed.
   */
  takenBack?: (eventId: string, subscriptionId: string, attempt: number) => number
}

/**
 * Compares the database with what the world outside saw: whoever published, and whoever received. Under
 * saga_readonly_role, at one moment. Requests that arrived after that moment would count as too many: let the
 * workers rest first.
 */
export function checkAgainstReceiver(pool: pg.Pool, evidence: ReceiverEvidence): Promise<Violation[]> {
  const { published, log } = evidence
  const stray = collectBreaches({ name: 'requests_name_event_and_attempt', rules: ['O5'] })
  if (log.strays > 0) stray.add('-', `${log.strays} requests cannot be told from their headers`)
  return inSnapshot(pool, async (reader) => [
    ...stray.violations(),
    ...(await compareEvents(reader, published, log)),
    ...(await compareAttempts(reader, evidence)),
  ])
}

async function compareEvents(
  reader: SnapshotReader,
  published: ReadonlyMap<string, string>,
  log: ReceiverLog,
): Promise<Violation[]> {
  const lost = collectBreaches({ name: 'acknowledged_event_is_stored', rules: ['E3', 'S22'] })
  const altered = collectBreaches({ name: 'stored_payload_is_published_one', rules: ['E1', 'E2'] })
  const unlike = collectBreaches({ name: 'request_body_is_payload', rules: ['J3', 'E1'] })
  const misnamed = collectBreaches({ name: 'request_has_webhook_id_of_event', rules: ['J3', 'O5'] })
  const unsigned = collectBreaches({ name: 'request_is_signed', rules: ['J3'] })
  const unknown = collectBreaches({ name: 'request_is_of_stored_event', rules: ['E1', 'R2'] })
  const missing = new Set(published.keys())
  const unseen = new Set(log.events.keys())
  await readRows<EventRow>(reader, eventHashes, ({ id, at_us, sha256 }) => {
    missing.delete(id)
    unseen.delete(id)
    if ((published.get(id) ?? sha256) !== sha256) altered.add(id, 'another payload was handed in')
    for (const each of log.events.get(id) ?? []) {
      const what = `subscription ${each.subscriptionId}, attempt ${each.attempt}`
      if (each.webhookIdVaries || each.webhookId !== webhookIdOf(id, at_us)) misnamed.add(id, what)
      if (each.bodyVaries || each.bodySha256 !== sha256) unlike.add(id, what)
      if (each.badSignatures > 0) unsigned.add(id, `${what}: ${each.badSignatures} of ${each.requests}`)
    }
  })
  for (const id of missing) lost.add(id, 'acknowledged, and not there')
  for (const id of unseen) unknown.add(id, 'received, and no such event is stored')
  return allOf([lost, altered, misnamed, unlike, unsigned, unknown])
}

async function compareAttempts(
  reader: SnapshotReader,
  { log, takenBack = () => 0 }: ReceiverEvidence,
): Promise<Violation[]> {
  const unheard = collectBreaches({ name: 'answered_attempt_was_received', rules: ['J6', 'S18'] })
  const repeated = collectBreaches({ name: 'no_more_requests_than_leases', rules: ['J4', 'J5', 'S16'] })
  // A requeued delivery begins again with attempt 1, so several jobs may stand behind one attempt's requests.
  const counts = new Map<string, { requests: number; leases: number; answered: number }>()
  for (const [eventId, ofEvent] of log.events) {
    for (const { subscriptionId, attempt, requests } of ofEvent) {
      const leases = takenBack(eventId, subscriptionId, attempt)
      counts.set(keyOf(eventId, subscriptionId, attempt), { requests, leases, answered: 0 })
    }
  }
  await readRows<AttemptRow>(reader, attempts, (job) => {
    if (!log.watches(job.subscription_id)) return
    const key = keyOf(job.event_id, job.subscription_id, job.attempt)
    const count = counts.get(key)
    if (count) {
      count.leases += job.leases
      count.answered += Number(job.answered)
    } else if (job.answered) {
      unheard.add(key, `job ${job.id} was answered, and the receiver has no request`)
    }
  })
  for (const [key, { requests, leases, answered }] of counts) {
    if (requests > leases) repeated.add(key, `${requests} requests under ${leases} leases`)
    if (requests < answered) unheard.add(key, `${answered} jobs were answered, the receiver has ${requests}`)
  }
  return allOf([unheard, repeated])
}

interface EventRow {
  id: string
  at_us: number
  sha256: string
}

interface AttemptRow {
  id: string
  event_id: string
  subscription_id: string
  attempt: number
  answered: boolean
  leases: number
}

const keyOf = (eventId: string, subscriptionId: string, attempt: number) =>
  `event ${eventId}, subscription ${subscriptionId}, attempt ${attempt}`

const allOf = (breaches: readonly Breaches[]) => breaches.flatMap((each) => each.violations())

async function readRows<Row extends object>(
  reader: SnapshotReader,
  sql: string,
  take: (row: Row) => void,
): Promise<void> {
  await inEachSpan(reader, await readSpans(reader, FIRST_EVENT_ID), async (span) => {
    for await (const row of readPages<Row>(reader, sql, span)) take(row)
  })
}
