import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/client/index.js'
import { databaseRoles } from '../../src/database/index.js'
import { useOwnPostgres } from '../support/own-postgres.js'
import { type Pooler, pgbouncer, startPgbouncer } from '../support/pgbouncer.js'
import { runCli } from '../support/run-cli.js'
import { adminKey, useSagapost } from '../support/sagapost-server.js'

const CLIENTS_MAX = 80
const PASSWORD = 'change-me'
const roles = databaseRoles.filter((role) => role !== 'event_publisher')
const page = await readFile(new URL('../../docs/operating/database.md', import.meta.url), 'utf8')
const [, makeLogin = ''] = /^```sql\n(CREATE ROLE login_job_worker.*?)^```/ms.exec(page) ?? []

/** test/support/pgbouncer.ts looks for it (Debian: apt install pgbouncer). */
const notRun = pgbouncer === undefined ? 'not run, there is no pgbouncer: ' : ''

describe.skipIf(notRun !== '')(`${notRun}behind one in transaction mode, with {role} logins`, () => {
  const postgres = useOwnPostgres({ settings: {} })
  let pooler: Pooler
  const urlFor = (login: string) => `postgres://${login}:${PASSWORD}@127.0.0.1:${pooler.port}/sagapost`
  const doctor = () =>
    runCli(['doctor', '--schema', '--invariants'], { DATABASE_URL: urlFor('login_{role}') })

  beforeAll(async () => {
    for (const role of roles) await postgres.admin.query(makeLogin.replaceAll('job_worker', role))
    pooler = await startPgbouncer({
      serverPort: postgres.server.port,
      database: 'sagapost',
      logins: roles.map((role) => `login_${role}`),
      password: PASSWORD,
      clientsMax: CLIENTS_MAX,
    })
  })
  afterAll(() => pooler?.stop())

  it('[O2, O6] the doctor reports that no part runs, and nothing else', async () => {
    const { code, stdout, stderr } = await doctor()
    expect([stdout.match(/^(?!ok).+$/gm), stderr, code]).toEqual([
      [expect.stringContaining('[nothing_runs]'), expect.stringContaining('Start one')],
      '',
      1,
    ])
    expect(stdout).toMatch(/^ok +roles +there is a login for each of 10 roles$/m)
  })

  it('[O2, O6] the doctor names a login that lacks a setting: login_settings_missing', async () => {
    await postgres.admin.query('ALTER ROLE login_router_worker SET synchronous_commit = off')
    await postgres.admin.query(endOfLogin('login_router_worker'))
    onTestFinished(async () => {
      await postgres.admin.query('ALTER ROLE login_router_worker SET synchronous_commit = on')
      await postgres.admin.query(endOfLogin('login_router_worker'))
    })
    const { stdout, code } = await doctor()
    expect(stdout).toMatch(
      /^failing +roles +no connection as router_worker: .*ALTER ROLE login_router_worker SET synchronous_commit = 'on' \[login_settings_missing\]$/m,
    )
    expect(code).toBe(1)
  })

  it('[O2, O6] the doctor names a login of a part that is a superuser: login_owns_schema', async () => {
    await postgres.admin.query('ALTER ROLE login_job_worker SUPERUSER')
    onTestFinished(() => postgres.admin.query('ALTER ROLE login_job_worker NOSUPERUSER').then(() => {}))
    expect((await doctor()).stdout).toMatch(
      /^attention +roles +the login login_job_worker is a superuser \[login_owns_schema\]$/m,
    )
  })

  it('[O2, O6] the doctor names a pooler that accepts no more clients: connections_exhausted', async () => {
    const clients: pg.Client[] = []
    onTestFinished(() => Promise.all(clients.map((client) => client.end())).then(() => {}))
    for (let made = 0; made < CLIENTS_MAX; made++) {
      const client = new pg.Client({ connectionString: urlFor('login_job_worker') })
      client.on('error', () => {})
      await client.connect()
      clients.push(client)
    }
    const { stdout, code } = await doctor()
    expect(stdout).toMatch(/^failing +database +.*no more connections allowed.* \[connections_exhausted\]$/m)
    expect(code).toBe(1)
  })

  describe('the parts', () => {
    const sagapost = useSagapost({
      get url() {
        return urlFor('login_{role}')
      },
    })

    it('[G18, O2] deliver, and the doctor finds nothing', async () => {
      const { subscriptions, events } = createClient({ baseUrl: sagapost.url, apiKey: adminKey })
      const { id } = await subscriptions.create({
        eventType: 'pooled',
        callbackUrl: `${sagapost.receiver.url}hooks`,
      })
      expect(await subscriptions.verify(id)).toEqual({ verified: true, active: true })
      await events.publish({ type: 'pooled', payload: 1 })
      const statuses = async () =>
        (await postgres.admin.query('SELECT status FROM sagapost.webhook_delivery_sagas')).rows
      await expect.poll(statuses).toEqual([{ status: 'Completed' }])
      const { code, stdout } = await doctor()
      expect([stdout.match(/^(?!ok).+$/gm), code]).toEqual([null, 0])
    })
  })

  // The last one: the pooler does not soon ask for that login again.
  it('[O2, O6] the doctor names a login that may not log in any more, and continues: role_not_granted', async () => {
    await postgres.admin.query('ALTER ROLE login_api_key_admin NOLOGIN')
    await postgres.admin.query(endOfLogin('login_api_key_admin'))
    const { stdout } = await doctor()
    expect(stdout).toMatch(/^attention +roles +no connection as api_key_admin: .* \[role_not_granted\]$/m)
    expect(stdout).toMatch(/^ok +dead_letters /m)
  })
})

/** The pooler makes its next connection anew. */
const endOfLogin = (login: string) =>
  `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = '${login}'`
