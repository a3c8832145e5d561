/**
 * Publishes an event and follows its deliveries to their end. With a server (npm start) and a subscription to
 * order.placed:
 *
 *   SAGAPOST_API_KEY=… npx tsx examples/publish-and-follow.ts
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, type Delivery } from 'sagapost/client'

const POLL_MS = 250
const POLLS_MAX = 120

const { SAGAPOST_URL = 'http://127.0.0.1:8080', SAGAPOST_API_KEY = '' } = process.env
const sagapost = createClient({ baseUrl: SAGAPOST_URL, apiKey: SAGAPOST_API_KEY })

const order = { number: process.argv[2] ?? '7', total: '12.50' }
const event = await sagapost.events.publish({
  type: 'order.placed',
  payload: order,
  // Names what happened: run again for the same order, nothing is published twice.
  idempotencyKey: `order-${order.number}-placed`,
})
console.log(`event ${event.id} ${event.duplicate ? 'was published before' : 'is published'}`)

const isOpen = ({ status }: Delivery) => status !== 'Completed' && status !== 'DeadLettered'
let deliveries: Delivery[] = []
for (let poll = 0; poll < POLLS_MAX && (deliveries.length === 0 || deliveries.some(isOpen)); poll += 1) {
  await sleep(POLL_MS)
  deliveries = (await sagapost.deliveries.list({ eventId: event.id })).data
}
if (deliveries.length === 0) console.log('nobody is subscribed to it')

for (const { id } of deliveries) {
  const { status, attempts } = await sagapost.deliveries.get(id)
  console.log(`delivery ${id} is ${status} after ${attempts.length} attempt(s)`)
  for (const { responseStatus, errorCode, durationMs } of attempts) {
    console.log(`  ${errorCode ?? `HTTP ${responseStatus}`} in ${durationMs} ms`)
  }
}
