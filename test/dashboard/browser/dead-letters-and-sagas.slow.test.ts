import { expect, it } from 'vitest'
import { approval } from '../stage-system.js'
import { useDashboard } from './use-dashboard.js'

const dashboard = useDashboard()

async function buryLetters(type: string, count: number): Promise<void> {
  const { system } = dashboard
  await system.subscribe(type, '/moody', { maxAttempts: 1 })
  const body = { events: Array.from({ length: count }, (_, n) => ({ type, payload: { n } })) }
  await system.call('POST', '/v1/events/batch', { body })
  const list = `/v1/dead-letters?eventType=${type}&limit=200`
  await expect.poll(async () => (await system.call('GET', list)).body.data.length).toBe(count)
}

it('[D4] a dead letter is inspected and requeued', async () => {
  await buryLetters('moody.one', 1)
  const page = await dashboard.open('/dead-letters?eventType=moody.one')
  await page.locator('[data-row-link]').first().click()
  await page.getByRole('heading', { name: /Dead letter \d+/ }).waitFor()
  expect(await page.getByLabel('Original payload').textContent()).toBe('{\n  "n": 0\n}')
  await page.getByText('not yet').waitFor()
  dashboard.system.mood.good = true
  await page.getByRole('button', { name: 'Requeue' }).click()
  await page.getByText('not yet').waitFor({ state: 'detached' })
  expect(await page.getByRole('button', { name: 'Requeue' }).count()).toBe(0)
  dashboard.system.mood.good = false
})

it('[D4, S19] dead letters are requeued by filter: counted first, then done by a saga that survives a reload', async () => {
  await buryLetters('moody.many', 30)
  dashboard.system.mood.good = true
  const page = await dashboard.open('/dead-letters?eventType=moody.many')
  await page.getByRole('button', { name: 'Requeue matching' }).click()
  await page.getByRole('dialog').getByText('30 dead letters match').waitFor()
  await page.getByRole('button', { name: 'Requeue 30' }).click()
  await page.getByText('30 of 30').waitFor()
  await page.reload()
  await page.getByText('30 of 30').waitFor()
  const delivered = '/v1/deliveries?status=Completed&eventType=moody.many'
  await expect.poll(async () => (await dashboard.system.call('GET', delivered)).body.data.length).toBe(30)
  await page.getByRole('button', { name: 'Requeue matching' }).click()
  await page.getByText('Nothing to requeue').waitFor()
  expect(await page.getByRole('dialog').getByRole('button', { name: 'Requeue' }).isDisabled()).toBe(true)
})

it('[G1, G6] sagas are listed and drawn: one that completed, and one that was compensated', async () => {
  const good = await dashboard.system.startSaga({ order: 1, fate: 'good' })
  const undone = await dashboard.system.startSaga({ order: 2, fate: 'undone' })
  const page = await dashboard.open('/sagas?definition=checkout')
  await expect.poll(() => page.locator('[data-row-link]').count()).toBe(2)
  await page.getByLabel('State').selectOption('Compensated')
  await expect.poll(() => page.locator('[data-row-link]').count()).toBe(1)
  await page.locator('[data-row-link]').first().click()
  const steps = page.getByLabel('Steps of the saga')
  await steps.getByText('out_of_reach').waitFor()
  expect(await steps.getByText('Undo').count()).toBe(2)
  await page.getByLabel('History of the saga').getByText('compensation.started').waitFor()
  expect(page.url()).toContain(undone)
  await page.goto(`${dashboard.system.url}/sagas/${good}`)
  await page.getByLabel('Steps of the saga').getByText('ship').waitFor()
  await page.getByLabel('Result').waitFor()
})

it('[G6, G14] a saga that waits for an operator is resolved, with the operator and the reason in its history', async () => {
  await dashboard.system.startSaga({ order: 3, fate: 'stuck' })
  const page = await dashboard.open('/sagas?awaitingOperator=true')
  await page.getByText('Needs an operator').waitFor()
  await page.locator('[data-row-link]').first().click()
  await page.getByLabel('Steps of the saga').getByText('bank_closed').first().waitFor()
  await page.getByRole('button', { name: 'Resolve' }).click()
  await page.getByLabel('Action').selectOption('skip')
  await page.getByLabel('Your name').fill('the operator')
  await page.getByLabel('Reason').fill('paid back by hand')
  await page.getByRole('dialog').getByRole('button', { name: 'Resolve' }).click()
  await page.getByText('Waiting for an operator').waitFor({ state: 'detached' })
  await page.getByLabel('History of the saga').getByText('paid back by hand').first().waitFor()
})

it('[G7] a saga that waits is cancelled', async () => {
  const started = await dashboard.system.system.coordinator?.start(approval, { request: 'holiday' })
  const page = await dashboard.open(`/sagas/${started?.id}`)
  await page.getByText('waits for signal:approved').waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByLabel('Your name').fill('the operator')
  await page.getByLabel('Reason').fill('nobody answers')
  await page.getByRole('button', { name: 'Cancel and compensate' }).click()
  await page.getByText('Cancelled', { exact: true }).first().waitFor()
  await page.getByText('nobody answers').first().waitFor()
})
