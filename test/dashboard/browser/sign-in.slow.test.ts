import { expect, it } from 'vitest'
import { revokeKey } from '../../../src/api-keys/index.js'
import { adminKey } from '../stage-system.js'
import { signIn, useDashboard } from './use-dashboard.js'

const dashboard = useDashboard()

it('[O2] a wrong key is refused with its code; a right one is kept where no script can read it', async () => {
  const page = await dashboard.open('/', { key: null })
  await page.getByLabel('API key').fill('spk_wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('unauthenticated').waitFor()

  await signIn(page, adminKey)
  const [cookie] = await page.context().cookies()
  expect(cookie).toMatchObject({ name: 'sagapost_session', httpOnly: true, sameSite: 'Strict', path: '/' })
  expect(decodeURIComponent(cookie?.value ?? '')).not.toContain(adminKey)
  expect(await page.evaluate('document.cookie')).toBe('')
  const kept = await page.evaluate<string>(
    'JSON.stringify({ ...localStorage, ...sessionStorage }) + document.documentElement.outerHTML',
  )
  expect(kept).not.toContain(adminKey)

  await page.reload()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).first().click()
  await page.getByLabel('API key').waitFor()
  expect(await page.context().cookies()).toEqual([])
})

it('[O2] revoking a key ends its sessions and their live streams', async () => {
  const key = await dashboard.keyOf('read')
  const page = await dashboard.open('/', { key })
  await page.getByText('Live', { exact: true }).waitFor()
  const { rows } = await dashboard.database.pool.query('SELECT max(id) AS id FROM sagapost.api_keys')
  await revokeKey(dashboard.database.as('api_key_admin'), rows[0].id)
  await page.getByText('Disconnected').waitFor()
  await page.getByRole('link', { name: 'Events' }).click()
  await page.getByLabel('API key').waitFor()
})

it('[O2] what a key may not do is neither offered nor done', async () => {
  const id = await dashboard.system.subscribe('scope.test', '/ok')
  const reader = await dashboard.open(`/subscriptions/${id}`, { key: await dashboard.keyOf('read') })
  await reader.getByRole('heading', { name: `Subscription ${id}` }).waitFor()
  await reader.getByText('Settings').waitFor()
  for (const name of ['Verify again', 'Edit', 'Pause', 'Rotate secret', 'Delete']) {
    expect(await reader.getByRole('button', { name, exact: true }).count()).toBe(0)
  }
  const refused = await reader.evaluate(
    async (path) => (await fetch(path, { method: 'DELETE', headers: { 'sagapost-page': '1' } })).status,
    `/v1/subscriptions/${id}`,
  )
  expect(refused).toBe(403)

  const publisher = await dashboard.open('/', { key: await dashboard.keyOf('ingest') })
  await publisher.getByText('This key has no access to the dashboard').waitFor()

  const owner = await dashboard.open('/', { key: await dashboard.keyOf('subscriptions') })
  await owner.getByRole('heading', { name: 'Subscriptions' }).waitFor()
  await owner.getByRole('button', { name: 'New subscription' }).waitFor()
})

it('[O2] a session changes nothing unless the page itself asks', async () => {
  const page = await dashboard.open()
  const statuses = await page.evaluate(async () => {
    const body = JSON.stringify({ type: 'csrf', payload: 1 })
    const ask = async (headers: Record<string, string>) =>
      (
        await fetch('/v1/events', {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body,
        })
      ).status
    return [await ask({}), await ask({ 'sagapost-page': '1' })]
  })
  expect(statuses).toEqual([403, 202])
})
