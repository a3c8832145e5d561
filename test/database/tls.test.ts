import { chmod, chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { makeCertificate, type ServerCertificate } from '../../src/cli/make-certificate.js'
import {
  connect,
  createRolePool,
  type EmbeddedPostgres,
  listen,
  migrate,
  startEmbeddedPostgres,
} from '../../src/database/index.js'
import { Sagapost, saga } from '../../src/index.js'

const book = saga('book').transaction('book', { run: () => 'booked' })

/** A server that takes no connection without TLS, with a certificate for `localhost`. */
describe('TLS to the database', () => {
  let folder: string
  let server: EmbeddedPostgres
  let url: (parameters: string, host?: string) => string
  const files = { good: '', other: '' }

  /** Into the data directory, for the account that the server runs under. */
  const install = async (name: string, text: string) => {
    const cluster = join(folder, 'data', 'postgres')
    const { uid, gid } = await stat(cluster)
    await writeFile(join(cluster, name), text)
    await chown(join(cluster, name), uid, gid)
    await chmod(join(cluster, name), 0o600)
  }
  const show = async ({ certificate, privateKey }: ServerCertificate) => {
    await install('server.crt', certificate)
    await install('server.key', privateKey)
  }
  /** On the one connection that was there before. The postmaster is through with it before it takes another one. */
  let owner: pg.Client
  const reload = async () => {
    const loaded = async () => (await owner.query('SELECT pg_conf_load_time()::text AS at')).rows[0].at
    const before = await loaded()
    await owner.query('SELECT pg_reload_conf()')
    await vi.waitUntil(async () => (await loaded()) !== before, { timeout: 60_000, interval: 5 })
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sagapost-tls-'))
    server = await startEmbeddedPostgres({ dataDir: join(folder, 'data') })
    const plain = new URL(server.url)
    url = (parameters, host = 'localhost') =>
      `postgres://${plain.username}:${plain.password}@${host}:${plain.port}${plain.pathname}?${parameters}`
    owner = new pg.Client({ connectionString: server.url })
    await owner.connect()
    const [good, other] = await Promise.all([makeCertificate({ hosts: ['localhost'] }), makeCertificate()])
    for (const [name, { certificateAuthority }] of Object.entries({ good, other })) {
      files[name as 'good'] = join(folder, `${name}.pem`)
      await writeFile(files[name as 'good'], certificateAuthority)
    }
    await show(good)
    const rules = await readFile(join(folder, 'data', 'postgres', 'pg_hba.conf'), 'utf8')
    await install('pg_hba.conf', rules.replace(/^host /gm, 'hostssl '))
    await owner.query('ALTER SYSTEM SET ssl = on')
    await reload()
    await migrate({ databaseUrl: url(`sslmode=verify-full&sslrootcert=${files.good}`) })
  })
  afterAll(async () => {
    await owner.end()
    await server.stop()
    await rm(folder, { recursive: true })
  })

  it('[G15] encrypts every connection: of all roles, of transaction steps, and the one that listens', async () => {
    const instance = new Sagapost({
      databaseUrl: url(`sslmode=verify-full&sslrootcert=${files.good}`),
      masterKey: Buffer.alloc(32, 7).toString('base64'),
      parts: ['api', 'router', 'orchestrator', 'worker', 'cleaner', 'sagas'],
      apiKey: 'the-administrators-key-of-the-environment',
      port: 0,
      sagas: [book],
    })
    try {
      await instance.start()
      await instance.events.publishMany([{ type: 'tls', payload: 1 }])
      await instance.subscriptions.list()
      await instance.deadLetters.list()
      expect((await (await instance.sagas.start(book, {})).result()).state).toBe('Completed')
      const connections = async () =>
        (
          await owner.query(
            `SELECT DISTINCT application_name AS name, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
             WHERE application_name LIKE 'sagapost %' ORDER BY 1`,
          )
        ).rows as { name: string; ssl: boolean }[]
      await expect
        .poll(async () => (await connections()).map(({ name }) => name.slice('sagapost '.length)))
        .toEqual(
          expect.arrayContaining([
            'event_ingest_writer',
            'job_worker',
            'listen',
            'router_worker',
            'saga transactions',
            'saga_app_role',
            'saga_orchestrator',
            'saga_readonly_role',
            'schema_maintainer',
            'subscription_admin',
          ]),
        )
      expect((await connections()).filter(({ ssl }) => !ssl)).toEqual([])
    } finally {
      await instance.stop()
    }
  })

  /** As the command line, the pools and the listener meet it. */
  const refusals = async (databaseUrl: string) => {
    const pool = createRolePool({ databaseUrl, role: 'saga_readonly_role', connectionsMax: 1 })
    const lost = await new Promise<Error>((resolve, reject) => {
      const listener = listen({
        databaseUrl,
        channel: 'tls',
        onNotification: () => {},
        onListening: () => listener.stop().then(() => reject(new Error('it listens'))),
        onLost: (error) => listener.stop().then(() => resolve(error)),
      })
    })
    const [login, role] = await Promise.allSettled([connect(databaseUrl), pool.query('SELECT 1')])
    await pool.end()
    expect(role.status).toBe('rejected')
    return { login: (login as PromiseRejectedResult).reason, lost }
  }

  it.each([
    ['of another authority', () => url(`sslmode=verify-full&sslrootcert=${files.other}`)],
    ['of an authority that nobody named', () => url('sslmode=verify-full')],
    ['the same with sslmode=require, which checks as much', () => url('sslmode=require')],
    [
      'the same with sslmode=require and another authority',
      () => url(`sslmode=require&sslrootcert=${files.other}`),
    ],
  ])('[G15] refuses a server with a certificate %s', async (_, databaseUrl) => {
    const { login, lost } = await refusals(databaseUrl())
    expect(login).toMatchObject({ code: 'database_unreachable' })
    expect(login.message).toMatch(/^PostgreSQL at localhost:\d+ cannot be reached: .*certificate/)
    expect(login.message).not.toContain(new URL(server.url).password)
    expect(lost.message).toMatch(/certificate/)
  })

  it('[G15] refuses a connection without TLS where the server requires it, with a clear message', async () => {
    const { login } = await refusals(url('sslmode=disable'))
    expect(login).toMatchObject({
      code: 'database_login_refused',
      message: expect.stringContaining('no encryption'),
    })
  })

  it('[G15] says which file of the URL cannot be read', async () => {
    const { login, lost } = await refusals(url(`sslmode=verify-full&sslrootcert=${folder}/none.pem`))
    expect(login).toMatchObject({
      code: 'database_unreachable',
      message: expect.stringContaining('none.pem'),
    })
    expect(lost.message).toContain('none.pem')
  })

  it('[G15] encrypts without checking the certificate only when asked to: sslmode=no-verify', async () => {
    const client = await connect(url('sslmode=no-verify'))
    const { rows } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')
    await client.end()
    expect(rows).toEqual([{ ssl: true }])
  })

  it('[G15] refuses a certificate for another host, whether dialled by name or by address', async () => {
    const byAddress = await refusals(url(`sslmode=verify-full&sslrootcert=${files.good}`, '127.0.0.1'))
    expect(byAddress.login).toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(/127\.0\.0\.1.*does not match/),
    })
    const elsewhere = await makeCertificate({ hosts: ['db.example'] })
    await writeFile(files.good, elsewhere.certificateAuthority)
    await show(elsewhere)
    await reload()
    const { login, lost } = await refusals(url(`sslmode=verify-full&sslrootcert=${files.good}`))
    expect(login).toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(/localhost.*db\.example/),
    })
    expect(lost.message).toMatch(/db\.example/)
  })
})
