// The order service: stores an order and publishes `order.placed` in one transaction, and delivers it by itself.
import { createServer, type IncomingMessage } from 'node:http'
import pg from 'pg'
import { Sagapost, SagapostError } from 'sagapost'
import { readCertificate } from './certificate.js'

const databaseUrl = process.env.DATABASE_URL ?? ''
const pool = new pg.Pool({ connectionString: databaseUrl })
pool.on('error', () => {}) // an idle connection that breaks; the next query opens another

const sagapost = new Sagapost({
  databaseUrl,
  masterKey: process.env.SAGAPOST_MASTER_KEY,
  migrate: true,
  retryBaseDelay: process.env.SAGAPOST_RETRY_BASE_DELAY,
  // For a warehouse on this machine. In production, leave these two out: receivers are public and have real certificates.
  allowedCidrs: '127.0.0.0/8',
  extraCertificateAuthorities: [(await readCertificate()).certificate],
})

async function placeOrder({ item, quantity }: { item: string; quantity: number }): Promise<string> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    const inserted = await client.query('INSERT INTO orders (item, quantity) VALUES ($1, $2) RETURNING id', [
      item,
      quantity,
    ])
    const { id } = inserted.rows[0]
    await sagapost.publish(client, {
      type: 'order.placed',
      payload: { order: id, item, quantity },
      idempotencyKey: `order-${id}-placed`,
    })
    // Too few left: a CHECK fails, everything is rolled back, and no event was ever there.
    await client.query('UPDATE stock SET quantity = quantity - $2 WHERE item = $1', [item, quantity])
    await client.query('COMMIT')
    sagapost.wake()
    return id
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

const server = createServer(async (request, response) => {
  const answer = (status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  try {
    const body = await readJson(request)
    if (request.method !== 'POST') answer(405, { error: 'only POST' })
    else if (request.url === '/orders') answer(201, { order: await placeOrder(body as never) })
    else if (request.url === '/webhooks') {
      // A partner subscribes. The secret is shown this once; then the callback must answer a challenge.
      const { callbackUrl } = body as { callbackUrl: string }
      const { id, secret } = await sagapost.subscriptions.create({ eventType: 'order.placed', callbackUrl })
      answer(201, { id, secret })
    } else if (request.url?.startsWith('/webhooks/')) {
      const outcome = await sagapost.subscriptions.verify(request.url.slice('/webhooks/'.length))
      answer(outcome.verified ? 200 : 422, outcome)
    } else answer(404, { error: 'POST /orders, /webhooks or /webhooks/<id>' })
  } catch (error) {
    const { code, message } = error as { code?: string; message: string }
    if (code === '23514') answer(409, { error: 'there are not so many left' })
    else if (error instanceof SagapostError || error instanceof SyntaxError) answer(400, { error: message })
    else answer(500, { error: 'something went wrong' })
  }
})

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString() || '{}')
}

await pool.query(`
  CREATE TABLE IF NOT EXISTS stock (item text PRIMARY KEY, quantity int NOT NULL CHECK (quantity >= 0));
  CREATE TABLE IF NOT EXISTS orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item text NOT NULL REFERENCES stock, quantity int NOT NULL
  );
  INSERT INTO stock VALUES ('lamp', 100) ON CONFLICT DO NOTHING`)
await sagapost.start()
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => console.log('The shop is open'))

// Signals are the application's: first no new orders, then what is being sent is finished.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await new Promise((closed) => {
      server.close(closed)
      server.closeIdleConnections()
    })
    await sagapost.stop()
    await pool.end()
  })
}
