import { readFile } from 'node:fs/promises'
import { beforeAll, expect, it, vi } from 'vitest'
import { webhookIdOfStored } from '../../support/webhook-ids.js'
import { useDashboard } from './use-dashboard.js'

const dashboard = useDashboard()
let good: string
let broken: string
let eventId: string
const hostile = {
  html: '</script><script>window.pwned = 1</script><img src=x onerror="window.pwned = 1">',
  bidi: 'invoice\u202egnp.exe',
}

beforeAll(async () => {
  const { system } = dashboard
  good = await system.subscribe('order.placed', '/ok')
  broken = await system.subscribe('invoice.sent', '/broken')
  eventId = await system.publish('order.placed', hostile, { idempotencyKey: 'order-7' })
  await system.publish('invoice.sent', { invoice: 1 })
  await system.publish('nobody.cares', 1)
  await vi.waitFor(async () => {
    expect((await system.call('GET', '/v1/dead-letters')).body.data).toHaveLength(1)
  }, 60_000)
})

it('[E1] events are found by type, id, key and time', async () => {
  const page = await dashboard.open('/events')
  const rows = page.locator('[data-row-link]')
  await expect.poll(() => rows.count()).toBe(3)
  await page.getByLabel('Type', { exact: true }).fill('order.placed')
  await page.getByRole('button', { name: 'Search' }).click()
  await expect.poll(() => rows.allTextContents()).toEqual([eventId])
  expect(page.url()).toContain('type=order.placed')
  await page.getByRole('button', { name: 'Clear' }).click()
  await expect.poll(() => rows.count()).toBe(3)

  await page.getByLabel('Idempotency key').fill('order-7')
  await page.getByRole('button', { name: 'Search' }).click()
  await expect.poll(() => rows.allTextContents()).toEqual([eventId])
  await page.getByLabel('Idempotency key').fill('nothing')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByText('Nothing matches').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()

  await page.getByLabel('To', { exact: true }).fill('2020-01-01T00:00:00')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByText('Nothing matches').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()

  await page.getByLabel('Event id').fill(`evt_${eventId}`)
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('heading', { name: `Event ${eventId}` }).waitFor()
})

it('[J3] an event is found by its webhook id, which its page and that of its delivery show', async () => {
  const webhookId = await webhookIdOfStored(dashboard.database.pool, eventId)
  const page = await dashboard.open('/events')
  await page.getByLabel('Event id').fill(` ${webhookId} `)
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByRole('heading', { name: `Event ${eventId}`, exact: true }).waitFor()
  await page.getByText(webhookId, { exact: true }).waitFor()
  await page.getByRole('region', { name: 'Deliveries' }).locator('[data-row-link]').click()
  await page.getByRole('heading', { name: /^Delivery / }).waitFor()
  await page.getByText(webhookId, { exact: true }).waitFor()

  const other = await dashboard.open(`/events/${webhookId}0`)
  await other.getByText(`there is no event ${webhookId}0`).waitFor()
})

it('[O6] a hostile payload is shown as text: nothing of it runs, and no character is hidden', async () => {
  const page = await dashboard.open(`/events/${eventId}`)
  const payload = page.getByLabel('Payload', { exact: true })
  await payload.waitFor()
  expect(await payload.textContent()).toContain('<img src=x onerror=')
  expect(await payload.textContent()).toContain('invoice\\u202egnp.exe')
  expect(await payload.locator('img, script').count()).toBe(0)
  expect(await page.evaluate(`'pwned' in window`)).toBe(false)

  await page.getByRole('button', { name: 'Copy payload' }).click()
  const copied = await page.evaluate('navigator.clipboard.readText()')
  expect(copied).toBe(JSON.stringify(hostile))
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  const download = await downloading
  expect(download.suggestedFilename()).toBe(`event-${eventId}.json`)
  expect(await readFile(await download.path(), 'utf8')).toBe(JSON.stringify(hostile))
  await page.getByRole('link', { name: /\d+/ }).first().waitFor()
})

it('[E1] a payload of one megabyte is shown in part and downloaded whole', async () => {
  const large = { text: 'x'.repeat(900_000), numbers: [1, 2, 3] }
  const id = await dashboard.system.publish('large.one', large)
  const page = await dashboard.open(`/events/${id}`)
  await page.getByText('Copy or download the payload').waitFor()
  const downloading = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download' }).click()
  expect(await readFile(await (await downloading).path(), 'utf8')).toBe(JSON.stringify(large))
  await page.getByText('No deliveries', { exact: true }).waitFor()
})

it('[E1] numbers beyond JavaScript’s precision are shown as they were published', async () => {
  const { call } = dashboard.system
  const text = '{"type":"number.large","payload":{"n":1e400,"m":12345678901234567890,"n":2}}'
  const { id } = (await call('POST', '/v1/events', { body: text })).body
  const page = await dashboard.open(`/events/${id}`)
  const payload = page.getByLabel('Payload', { exact: true })
  await payload.waitFor()
  expect(await payload.textContent()).toBe('{\n  "n": 1e400,\n  "m": 12345678901234567890,\n  "n": 2\n}')
})

it('[S5] deliveries are found by status, subscription, type and error', async () => {
  const page = await dashboard.open('/deliveries')
  const rows = page.locator('[data-row-link]')
  await expect.poll(() => rows.count()).toBe(2)
  await page.getByLabel('Status').selectOption('DeadLettered')
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByLabel('Error').fill('http_500')
  await page.getByRole('button', { name: 'Search' }).click()
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByLabel('Error').fill('timeout')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.getByText('Nothing matches').waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByLabel('Event type').fill('order.placed')
  await page.getByRole('button', { name: 'Search' }).click()
  await expect.poll(() => rows.count()).toBe(1)
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByLabel('Subscription').fill(good)
  await page.getByRole('button', { name: 'Search' }).click()
  await expect.poll(() => rows.count()).toBe(1)
  await rows.first().click()
  await page.getByRole('heading', { name: /Delivery \d+/ }).waitFor()
  await page.getByRole('img', { name: 'State machine: the delivery is Completed' }).waitFor()
  await page.getByText('HTTP 200').waitFor()
})

it('[S17, J5] a delivery shows its attempts, and a hostile answer is text', async () => {
  const { body } = await dashboard.system.call('GET', `/v1/deliveries?subscriptionId=${broken}`)
  const page = await dashboard.open(`/deliveries/${body.data[0].id}`)
  await page.getByText('Attempt 3').waitFor()
  expect(await page.getByText('http_500').count()).toBeGreaterThan(2)
  await page.getByText('Dead-lettered: the maximum').waitFor()
  await page.locator('summary').first().click()
  expect(await page.getByLabel('Response').first().textContent()).toContain('<script>window.pwned')
  expect(await page.evaluate(`'pwned' in window`)).toBe(false)
})

it('[S14] a delivery that waits for a retry counts down to it', async () => {
  const { system } = dashboard
  const id = await system.subscribe('retry.later', '/later')
  await system.publish('retry.later', 1)
  const waiting = async () =>
    (await system.call('GET', `/v1/deliveries?status=PendingRetry&subscriptionId=${id}`)).body.data[0]
  await expect.poll(waiting).toBeDefined()
  const page = await dashboard.open(`/deliveries/${(await waiting()).id}`)
  await page.getByText(/Next try/).waitFor()
  await page
    .getByText(/in 59 min \d+ s/)
    .first()
    .waitFor()
  await page.goto(`${system.url}/subscriptions/${id}`)
  await page.getByText('Failing', { exact: true }).first().waitFor()
})

it('[O7] an unknown record is shown with the error code', async () => {
  const page = await dashboard.open('/deliveries/999999')
  await page.getByRole('alert').getByText('delivery_not_found').waitFor()
  await page.goto(`${dashboard.system.url}/deliveries?subscriptionId=x`)
  await page.getByRole('alert').getByText('request_invalid').waitFor()
})
