import pg from 'pg'
import { Sagapost } from 'sagapost'
import { checkout, type Order, type Payment } from './checkout.js'
import { startCustomer } from './customer.js'

const databaseUrl = process.env['DATABASE_URL'] ?? ''
const pool = new pg.Pool({ connectionString: databaseUrl })
const customer = await startCustomer()
const sagapost = new Sagapost({
  databaseUrl,
  masterKey: process.env['SAGAPOST_MASTER_KEY'],
  parts: ['router', 'orchestrator', 'worker', 'cleaner', 'sagas'],
  sagas: [checkout],
  migrate: true,
  // For a customer on this machine. In production, leave these two out.
  allowedCidrs: '127.0.0.0/8',
  extraCertificateAuthorities: [customer.certificate],
})

await sagapost.start()
const subscription = await sagapost.subscriptions.create({
  eventType: 'order.shipped',
  callbackUrl: customer.url,
})
customer.know(subscription.secret)
await sagapost.subscriptions.verify(subscription.id)
await pool.query(`
  CREATE TABLE IF NOT EXISTS shop_orders (
    id serial PRIMARY KEY, item text NOT NULL, state text NOT NULL DEFAULT 'placed', paid_cents int,
    parcel text)`)

/** The order and its saga are there together, or neither of them is. */
async function placeOrder(order: Omit<Order, 'id'>) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const { rows } = await client.query<{ id: number }>(
      'INSERT INTO shop_orders (item) VALUES ($1) RETURNING id',
      [order.item],
    )
    const id = rows[0]?.id ?? 0
    const handle = await sagapost.sagas.startIn(client, checkout, { ...order, id }, { key: `order-${id}` })
    await client.query('COMMIT')
    sagapost.wake()
    return { id, handle }
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

/** The bank has called back: the shop notes it, and tells the order that waits for it, in one transaction. */
async function receivePayment(id: number, cents: number) {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await client.query('UPDATE shop_orders SET paid_cents = $2 WHERE id = $1', [id, cents])
    // It may come before the order waits for it, and more than once.
    const payload = { cents } satisfies Payment
    await sagapost.sagas.signalIn(client, { name: 'payment.received', key: `order-${id}`, payload })
    await client.query('COMMIT')
    sagapost.wake()
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

const orders = [
  { item: 'lamp', quantity: 2, cents: 8_000, address: 'the harbour' },
  { item: 'piano', quantity: 1, cents: 900_000, address: 'the moon' },
]
for (const order of orders) {
  console.log(`Order: ${order.quantity} x ${order.item} to ${order.address}`)
  const { id, handle } = await placeOrder(order)
  await receivePayment(id, order.cents)
  const end = await handle.result()
  if (end.state === 'Completed') console.log(`Completed: ${end.outputs.ship.parcel}`)
  else {
    await pool.query(`UPDATE shop_orders SET state = 'given up' WHERE id = $1`, [id])
    console.log(`${end.state}: ${end.error?.message} [${end.error?.code}]`)
  }
}

await sagapost.subscriptions.delete(subscription.id)
await sagapost.stop()
await customer.leave()
await pool.end()
