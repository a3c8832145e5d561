import { beforeAll, describe, expect, it } from 'vitest'
import { checkAgainstReceiver } from '../support/check-against-receiver.js'
import { useDatabase } from '../support/database.js'
import { createReceiverLog, type ReceiverLog, sha256 } from '../support/receiver-log.js'
import { webhookIdOfStored } from '../support/webhook-ids.js'
import { type Staged, stageDeliveries } from './stage-deliveries.js'

const database = useDatabase()
let staged: Staged
let webhookIds: ReadonlyMap<string, string>
beforeAll(async () => {
  staged = await stageDeliveries(database)
  const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM sagapost.events')
  const ids = rows.map(async ({ id }) => [id, await webhookIdOfStored(database.pool, id)] as const)
  webhookIds = new Map(await Promise.all(ids))
})

interface Sent {
  eventId: string
  attempt: number
  webhookId?: string
  body?: string
  signature?: string
}

/** The requests that the staged history must have made: one for every report, one for the lease that is held. */
const honestRequests = (): Sent[] => [
  { eventId: staged.completed.eventId, attempt: 1 },
  { eventId: staged.retried.eventId, attempt: 1 },
  { eventId: staged.retried.eventId, attempt: 2 },
  { eventId: staged.dead.eventId, attempt: 1 },
  { eventId: staged.dead.eventId, attempt: 2 },
  { eventId: staged.waiting.eventId, attempt: 1 },
  { eventId: staged.reported.eventId, attempt: 1 },
  { eventId: staged.leased.eventId, attempt: 1 },
]

function receive(
  log: ReceiverLog,
  {
    eventId,
    attempt,
    webhookId = webhookIds.get(eventId) ?? `evt_${eventId}_1`,
    body = staged.payload,
    signature = 'good',
  }: Sent,
): void {
  log.record(staged.subscriptionId, {
    headers: {
      'webhook-id': webhookId,
      'sagapost-attempt': String(attempt),
      'webhook-signature': signature,
    },
    body: Buffer.from(body),
  })
}

function logOf(requests: readonly Sent[]): ReceiverLog {
  const log = createReceiverLog()
  log.watch(staged.subscriptionId, ({ headers }) => headers['webhook-signature'] === 'good')
  for (const request of requests) receive(log, request)
  return log
}

const published = () =>
  new Map(
    [staged.completed, staged.retried, staged.dead, staged.waiting, staged.pending].map(({ eventId }) => [
      eventId,
      sha256(staged.payload),
    ]),
  )

const check = (log: ReceiverLog, acknowledged = published()) =>
  checkAgainstReceiver(database.as('saga_readonly_role'), { published: acknowledged, log })

const names = async (log: ReceiverLog, acknowledged = published()) =>
  (await check(log, acknowledged)).map(({ invariant }) => invariant)

describe('a receiver that got what the database records', () => {
  it('[J6, S18] raises no alarm, whether or not the request of a held lease has arrived', async () => {
    expect(await check(logOf(honestRequests()))).toEqual([])
    expect(await check(logOf(honestRequests().slice(0, -1)))).toEqual([])
  })

  it('[J5, J8] may have got an attempt again for every lease that was lost', async () => {
    await database.pool.query(
      `UPDATE sagapost.webhook_delivery_jobs SET status = 'Pending', lease_resets = lease_resets + 1 WHERE saga_id = $1`,
      [staged.leased.deliveryId],
    )
    const once = { eventId: staged.leased.eventId, attempt: 1 }
    expect(await check(logOf(honestRequests()))).toEqual([])
    expect(await names(logOf([...honestRequests(), once]))).toEqual(['no_more_requests_than_leases'])
  })

  it('leaves the deliveries of other subscriptions alone', async () => {
    expect(await check(createReceiverLog())).toEqual([])
  })
})

describe('a receiver that disagrees with the database', () => {
  it('[E3, S22] an acknowledged event is not stored', async () => {
    const acknowledged = published().set('999999', sha256('{}'))
    expect(await check(logOf(honestRequests()), acknowledged)).toEqual([
      expect.objectContaining({ invariant: 'acknowledged_event_is_stored', ids: ['999999'] }),
    ])
  })

  it('[E1] an event is stored with another payload than was handed in', async () => {
    const acknowledged = published().set(staged.pending.eventId, sha256(`${staged.payload} `))
    expect(await names(logOf(honestRequests()), acknowledged)).toEqual(['stored_payload_is_published_one'])
  })

  it('[J6, S18] an attempt that was answered never arrived', async () => {
    const [completed, ...others] = honestRequests()
    expect(await check(logOf(others))).toEqual([
      expect.objectContaining({
        invariant: 'answered_attempt_was_received',
        ids: [
          `event ${completed?.eventId}, subscription ${staged.subscriptionId}, attempt ${completed?.attempt}`,
        ],
      }),
    ])
  })

  it('[S16, J4] an attempt arrived twice though no lease was lost', async () => {
    const log = logOf([...honestRequests(), { eventId: staged.completed.eventId, attempt: 1 }])
    expect(await names(log)).toEqual(['no_more_requests_than_leases'])
  })

  it('[S10, S16] an attempt without a job arrived', async () => {
    const log = logOf([...honestRequests(), { eventId: staged.pending.eventId, attempt: 1 }])
    expect(await names(log)).toEqual(['no_more_requests_than_leases'])
  })

  it('[J3] a body differs by one space, in the first request or a repeated one', async () => {
    const other = { eventId: staged.completed.eventId, attempt: 1, body: `${staged.payload} ` }
    expect(await names(logOf([other, ...honestRequests().slice(1)]))).toEqual(['request_body_is_payload'])
    expect(await names(logOf([...honestRequests(), other]))).toEqual([
      'request_body_is_payload',
      'no_more_requests_than_leases',
    ])
  })

  it('[J3] a webhook id is that of an earlier event with the same id, in the first request or a repeated one', async () => {
    const { eventId } = staged.completed
    for (const webhookId of [`evt_${eventId}`, `evt_${eventId}_1z`]) {
      const other = { eventId, attempt: 1, webhookId }
      expect(await names(logOf([other, ...honestRequests().slice(1)]))).toEqual([
        'request_has_webhook_id_of_event',
      ])
      expect(await names(logOf([...honestRequests(), other]))).toEqual([
        'request_has_webhook_id_of_event',
        'no_more_requests_than_leases',
      ])
    }
  })

  it('[J3] a signature is not valid', async () => {
    const [first, ...others] = honestRequests()
    const log = logOf([{ ...(first as Sent), signature: 'bad' }, ...others])
    expect(await names(log)).toEqual(['request_is_signed'])
  })

  it('[R2] a request belongs to no stored event', async () => {
    const log = logOf([...honestRequests(), { eventId: '888888', attempt: 1 }])
    expect(await names(log)).toEqual(['request_is_of_stored_event', 'no_more_requests_than_leases'])
  })

  it('[O5] a request cannot be identified by its headers, or is for a subscription that is not watched', async () => {
    const log = logOf(honestRequests())
    log.record(staged.subscriptionId, { headers: { 'webhook-id': 'x' }, body: Buffer.from('{}') })
    log.record('77', { headers: { 'webhook-id': 'evt_1', 'sagapost-attempt': '1' }, body: Buffer.from('{}') })
    expect(await check(log)).toEqual([
      expect.objectContaining({
        invariant: 'requests_name_event_and_attempt',
        detail: expect.stringContaining('2 requests'),
      }),
    ])
  })
})
