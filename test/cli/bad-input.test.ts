import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startEmbeddedPostgres } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { hasPostgres14, nativeDirOf } from '../support/native-dir.js'
import { runCli } from '../support/run-cli.js'

/** One clear line with the code, a non-zero exit, no stack trace, and no password. */
async function refusal(args: string[], env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, env)
  expect(code).toBe(1)
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^sagapost: .+ \[[a-z0-9_]+\]\n$/)
  expect(stderr).not.toMatch(/\n\s+at |secret-word/)
  return stderr
}

const database = useDatabase()

let folder: string
let mute: Server
let mutePort: number
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-bad-input-'))
  // Takes connections and hangs up.
  mute = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  mutePort = (mute.address() as { port: number }).port
})
afterAll(() => {
  mute.close()
  rmSync(folder, { recursive: true })
})

describe('a DATABASE_URL that cannot be used', () => {
  it.each([
    ['what is not a URL', 'not a url', 'database_url_invalid'],
    ['another protocol', 'mysql://root:secret-word@127.0.0.1/app', 'database_url_invalid'],
    ['no database name', 'postgres://u:secret-word@127.0.0.1:5432', 'database_url_invalid'],
    [
      'a certificate file that is not there',
      'postgres://u:secret-word@127.0.0.1:1/app?sslrootcert=/nowhere.pem',
      'database_unreachable',
    ],
    ['a port where nobody listens', 'postgres://u:secret-word@127.0.0.1:1/app', 'database_unreachable'],
    [
      'a host that does not exist',
      'postgres://u:secret-word@does-not-exist.invalid/app',
      'database_unreachable',
    ],
    ['a folder without a socket', 'postgres://u:secret-word@%2Fnowhere/app', 'database_unreachable'],
  ])('[O3] %s', async (_what, DATABASE_URL, code) => {
    expect(await refusal(['migrate'], { DATABASE_URL })).toContain(`[${code}]`)
  })

  it('[O3] a server that hangs up', async () => {
    const DATABASE_URL = `postgres://u:secret-word@127.0.0.1:${mutePort}/app`
    expect(await refusal(['migrate'], { DATABASE_URL })).toContain('[database_unreachable]')
  })

  it('[O3] a wrong password', async () => {
    const url = new URL(inject('serverUrl'))
    url.password = 'secret-word'
    expect(await refusal(['migrate'], { DATABASE_URL: url.href })).toContain('[database_login_refused]')
  })

  it('[O3] a database that allows no connections, is not in UTF8, or does not admit this login', async () => {
    const server = new pg.Client({ connectionString: inject('serverUrl') })
    await server.connect()
    try {
      await server.query(`CREATE DATABASE closed ALLOW_CONNECTIONS false`)
      await server.query(`CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0`)
      await server.query(`CREATE ROLE stranger LOGIN PASSWORD 'test'`)
      await server.query(`CREATE DATABASE private`)
      await server.query(`REVOKE CONNECT ON DATABASE private FROM PUBLIC`)
      const url = new URL(inject('serverUrl'))
      url.pathname = '/closed'
      expect(await refusal(['migrate'], { DATABASE_URL: url.href })).toContain('[database_unreachable]')
      url.pathname = '/latin'
      expect(await refusal(['migrate'], { DATABASE_URL: url.href })).toContain('[database_not_utf8]')
      url.pathname = '/private'
      url.username = 'stranger'
      url.password = 'test'
      expect(await refusal(['migrate'], { DATABASE_URL: url.href })).toContain('[database_login_refused]')
    } finally {
      for (const name of ['closed', 'latin', 'private']) await server.query(`DROP DATABASE IF EXISTS ${name}`)
      await server.query('DROP ROLE IF EXISTS stranger')
      await server.end()
    }
  })

  it('[O3] a login that may not read the schema', async () => {
    const own = new pg.Client({ connectionString: database.url })
    await own.connect()
    try {
      await own.query(`CREATE ROLE onlooker LOGIN PASSWORD 'test'`)
      const url = new URL(database.url)
      url.username = 'onlooker'
      url.password = 'test'
      expect(await refusal(['migrate', '--status'], { DATABASE_URL: url.href })).toContain(
        '[migration_not_permitted]',
      )
    } finally {
      await own.query('DROP ROLE IF EXISTS onlooker')
      await own.end()
    }
  })

  it('[O3] a database that does not exist', async () => {
    const url = new URL(inject('serverUrl'))
    url.pathname = '/nowhere'
    expect(await refusal(['migrate'], { DATABASE_URL: url.href })).toContain('[database_missing]')
  })

  it.runIf(hasPostgres14)('[O3] a server older than 15', async () => {
    const server = await startEmbeddedPostgres({ dataDir: join(folder, 'old'), nativeDir: nativeDirOf(14) })
    try {
      const line = await refusal(['migrate'], { DATABASE_URL: server.url })
      expect(line).toMatch(/PostgreSQL 14\.\d+.* is too old: Sagapost needs 15 or later \[postgres_too_old\]/)
    } finally {
      await server.stop()
    }
  })
})

describe('other settings and words', () => {
  it.each(['eighty', '-1', '65536', '80.5', '0x50'])('[O2] PORT=%s stops the start', async (PORT) => {
    expect(await refusal(['dev'], { PORT })).toMatch(/PORT must be .*"?.*\[config_invalid\]/)
  })

  it('[O2] an unknown command or option is reported with a hint, and the exit code is 2', async () => {
    for (const args of [['delvier'], ['migrate', '--statsu']]) {
      const { code, stdout, stderr } = await runCli(args)
      expect(code).toBe(2)
      expect(stdout).toBe('')
      expect(stderr).toMatch(/^error: unknown (command|option) .*\n/)
      expect(stderr).toContain('sagapost --help')
    }
  })

  it('[O2] with --json the refusal is JSON too', async () => {
    const { code, stderr } = await runCli(['migrate', '--json'], { DATABASE_URL: 'nonsense' })
    expect(code).toBe(1)
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'database_url_invalid', detail: expect.stringContaining('DATABASE_URL') },
    })
  })
})
