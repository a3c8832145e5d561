/** `npm run dashboard:screenshots`: every page of the dashboard, light and dark, of a staged system, into docs/images. */
import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Page } from 'playwright-core'
import { migrate, startEmbeddedPostgres } from '../src/database/index.js'
import { openBrowser } from '../test/dashboard/open-browser.js'
import { adminKey, approval, stageSystem } from '../test/dashboard/stage-system.js'

const images = fileURLToPath(new URL('../docs/images/', import.meta.url))
const SIZE = { width: 1360, height: 900 }
const PHONE = { width: 390, height: 780 }
const EVENTS = 120
const SETTLE_MS = 2_500

// A day behind us: busier at noon, with an hour in which a receiver was slow. Buckets as in duration-buckets.ts.
const pastDay = `
  INSERT INTO sagapost.delivery_minutes
  SELECT 0, minute, load, load / 40 + trouble, trouble / 60,
         ARRAY[0, 0, 0, load / 20, load / 10, load / 5, load / 4, load / 5, load / 10, load / 20, load / 40 + trouble,
               trouble, trouble / 2, trouble / 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], NULL
  FROM (SELECT minute, (1100 + 500 * sin(extract(epoch FROM minute) / 13750) + 120 * random())::int AS load,
               CASE WHEN minute BETWEEN now() - interval '31 minutes' AND now() - interval '12 minutes'
                    THEN (80 + 30 * random())::int ELSE 0 END AS trouble
        FROM generate_series(date_trunc('minute', now()) - interval '1 day', now() - interval '1 minute', '1 minute') AS minute
       ) AS past
  ON CONFLICT (subscription_id, minute) DO UPDATE
  SET succeeded = greatest(delivery_minutes.succeeded, excluded.succeeded), durations = excluded.durations`
const pastEvents = `
  INSERT INTO sagapost.event_minutes
  SELECT minute, succeeded * 4 / 5 FROM sagapost.delivery_minutes
  WHERE subscription_id = 0 AND minute < date_trunc('minute', now())
  ON CONFLICT (minute) DO UPDATE SET events = greatest(event_minutes.events, excluded.events)`

const folder = await mkdtemp(join(tmpdir(), 'sagapost-screenshots-'))
const server = await startEmbeddedPostgres({
  dataDir: join(folder, 'data'),
  settings: { shared_preload_libraries: 'pg_stat_statements' },
})
const pool = new pg.Pool({ connectionString: server.url, max: 2 })
await migrate({ databaseUrl: server.url })
await pool.query('CREATE EXTENSION IF NOT EXISTS pg_stat_statements').catch(() => {})
const system = await stageSystem(server.url)
const browser = await openBrowser()
let stopTraffic = () => {}
try {
  await mkdir(images, { recursive: true })
  const pages = await stage()
  const traffic = setInterval(() => void sendTraffic(), 400)
  stopTraffic = () => clearInterval(traffic)
  for (const theme of ['light', 'dark'] as const) {
    const context = await browser.newContext({ viewport: SIZE, colorScheme: theme, locale: 'en-GB' })
    const page = await context.newPage()
    page.on('pageerror', (error) => console.error(error))
    await page.goto(system.url)
    await page.getByLabel('API key').waitFor()
    await shoot(page, `sign-in-${theme}`)
    await page.getByLabel('API key').fill(adminKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await drawPast()
    for (const [name, path] of Object.entries(pages)) {
      await page.goto(system.url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      if (name === 'overview') await page.getByRole('button', { name: 'Last hour' }).click()
      await page.waitForTimeout(SETTLE_MS)
      await shoot(page, `${name}-${theme}`)
    }
    await page.goto(`${system.url}/dead-letters?eventType=invoice.sent`)
    await page.getByRole('button', { name: 'Requeue matching' }).click()
    await page.getByText('dead letters match').waitFor()
    await shoot(page, `requeue-${theme}`)
    await page.setViewportSize(PHONE)
    await page.goto(system.url)
    await page.getByRole('button', { name: 'Last hour' }).click()
    await page.waitForTimeout(SETTLE_MS)
    await shoot(page, `phone-${theme}`)
    await context.close()
  }
} finally {
  stopTraffic()
  await browser.close()
  await system.stop()
  await pool.end()
  await server.stop()
  await rm(folder, { recursive: true })
}

/** Up to the minute before this one, whatever staging left there. */
async function drawPast(): Promise<void> {
  await pool.query(pastDay)
  await pool.query(pastEvents)
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(images, `dashboard-${name}.png`) })
  console.log(`dashboard-${name}.png`)
}

/** So that something happens while the pictures are taken. */
async function sendTraffic(): Promise<void> {
  const types = [
    'order.placed',
    'order.placed',
    'order.shipped',
    'order.shipped',
    'order.placed',
    'invoice.sent',
  ]
  const events = Array.from({ length: 6 }, (_, n) => ({ type: types[n], payload: { order: 5_000 + n } }))
  const headers = { 'sagapost-correlation-id': `checkout-${randomUUID()}` }
  await system.call('POST', '/v1/events/batch', { body: { events }, headers }).catch(() => {})
}

/** Deliveries that arrive, some that fail, dead letters, and sagas of every kind; tells where each page is. */
async function stage(): Promise<Record<string, string>> {
  const orders = await system.subscribe('order.placed', '/slow', { headers: { 'x-tenant': 'north' } })
  await system.subscribe('order.shipped', '/ok')
  await system.subscribe('invoice.sent', '/broken')
  await system.subscribe('stock.counted', '/later')
  await system.call('POST', '/v1/subscriptions', {
    body: { eventType: 'customer.created', callbackUrl: 'https://crm.example/hooks/customers' },
  })
  const types = [
    'order.placed',
    'order.placed',
    'order.placed',
    'order.shipped',
    'order.shipped',
    'invoice.sent',
  ]
  await system.publish('stock.counted', { sku: 'tea-250', count: 12 })
  let event = ''
  for (let n = 0; n < EVENTS; n++) {
    const type = types[n % types.length] as string
    const payload = {
      order: 1_000 + n,
      customer: { id: 77, name: 'A. Customer' },
      items: [{ sku: 'tea-250', count: 2 }],
      total: '12.50',
    }
    const headers = { 'sagapost-correlation-id': `checkout-${randomUUID()}` }
    const id = await system.publish(type, payload, { idempotencyKey: `order-${n}` }, headers)
    if (type === 'order.placed') event = id
  }
  for (let order = 1; order <= 3; order++) await system.startSaga({ order, fate: 'good' }, `order-${order}`)
  const undone = await system.startSaga({ order: 4, fate: 'undone' }, 'order-4')
  const stuck = await system.startSaga({ order: 5, fate: 'stuck' }, 'order-5')
  await system.system.coordinator?.start(approval, { request: 'holiday-7' }, { key: 'holiday-7' })
  const first = async (path: string) => (await system.call('GET', path)).body.data[0]?.id
  while (!(await first('/v1/dead-letters'))) await new Promise((resolve) => setTimeout(resolve, 200))
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))
  return {
    overview: '/',
    events: '/events',
    event: `/events/${event}`,
    deliveries: '/deliveries',
    delivery: `/deliveries/${await first('/v1/deliveries?status=DeadLettered')}`,
    'delivery-waiting': `/deliveries/${await first('/v1/deliveries?status=PendingRetry')}`,
    subscriptions: '/subscriptions',
    subscription: `/subscriptions/${orders}`,
    'dead-letters': '/dead-letters',
    'dead-letter': `/dead-letters/${await first('/v1/dead-letters')}`,
    sagas: '/sagas',
    saga: `/sagas/${stuck}`,
    'saga-undone': `/sagas/${undone}`,
    system: '/system',
  }
}
