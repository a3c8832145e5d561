import { expect, it } from 'vitest'
import { useDashboard } from './use-dashboard.js'

const dashboard = useDashboard()

it('[U1, U4, U5] a subscription is created, verified, tested, changed, paused, rotated and deleted', async () => {
  const { system } = dashboard
  const page = await dashboard.open('/subscriptions')
  await page.getByText('No subscriptions yet').waitFor()
  await page.getByRole('button', { name: 'New subscription' }).click()
  await page.getByLabel('Event type').last().fill('order.placed')
  await page.getByLabel('Callback URL').fill('https://10.0.0.1/')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('dialog').getByText('callback_url_blocked').waitFor()
  await page.getByLabel('Callback URL').fill(`${system.receiver.url}ok`)
  await page.getByLabel('Headers').fill('x-tenant: north')
  await page.getByRole('button', { name: 'Create' }).click()
  const secret = page.locator('[data-secret]')
  expect(await secret.textContent()).toMatch(/^whsec_/)
  await page.getByRole('link', { name: 'View subscription' }).click()
  await page.getByText('Not verified').waitFor()
  expect(await page.locator('[data-secret]').count()).toBe(0)
  await page.getByText('x-tenant').waitFor()

  await page.getByRole('button', { name: 'Verify', exact: true }).click()
  await page.getByRole('button', { name: 'Send challenge' }).click()
  await page.getByText('Active', { exact: true }).waitFor()

  await page.getByRole('button', { name: 'Send test' }).click()
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByRole('heading', { name: 'Test request accepted' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).last().click()

  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click()
  await page.getByText('Inactive', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click()
  await page.getByText('Active', { exact: true }).waitFor()

  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('spinbutton', { name: 'Attempts' }).fill('2')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect.poll(async () => (await system.call('GET', '/v1/subscriptions/1')).body.maxAttempts).toBe(2)

  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByLabel('Overlap in hours').fill('1')
  await page.getByRole('button', { name: 'Rotate', exact: true }).click()
  await page.getByText('signed with both secrets until').waitFor()
  expect(await secret.textContent()).toMatch(/^whsec_/)
  await page.getByRole('button', { name: 'Done' }).click()

  await system.publish('order.placed', { order: 1 })
  await page.locator('[data-row-link]').first().waitFor()
  await expect.poll(() => page.getByText('100 %').count(), { timeout: 60_000 }).toBeGreaterThan(0)

  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete permanently' }).click()
  await page.getByText('Deleted', { exact: true }).first().waitFor()
  expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0)
})

it('[U4] a failed verification shows the reason', async () => {
  const { system } = dashboard
  const body = { eventType: 'deaf.one', callbackUrl: `${system.receiver.url}deaf` }
  const { id } = (await system.call('POST', '/v1/subscriptions', { body })).body
  const page = await dashboard.open(`/subscriptions/${id}`)
  await page.getByRole('button', { name: 'Verify', exact: true }).click()
  await page.getByRole('button', { name: 'Send challenge' }).click()
  await page.getByRole('dialog').getByText('verification_failed').waitFor()
  await page
    .getByRole('dialog')
    .getByText(/HTTP 500/)
    .waitFor()
})
