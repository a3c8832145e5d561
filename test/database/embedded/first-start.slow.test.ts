import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { Cluster } from '../../../src/database/embedded/initialise-cluster.js'
import { launchServer } from '../../../src/database/embedded/launch-server.js'
import { freePort } from '../../support/free-port.js'
import { makeFolder, native15, native18, quick, useDataDir } from './make-folder.js'
import { connect, query } from './query-server.js'
import { startServer } from './start-server.js'
import { waitFor } from './wait-for.js'

const usedDataDir = useDataDir()

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

describe.each([
  ['15', native15],
  ['18', native18],
])('a first start with PostgreSQL %s', (major, nativeDir) => {
  it('[O2] creates a complete cluster that requires the password, and starts it again', async () => {
    const dataDir = join(makeFolder(), 'deep', '..', 'data')
    const options = { dataDir, nativeDir, settings: { ...quick, min_parallel_table_scan_size: '0' } }
    const server = await startServer(options)
    expect(server.version).toMatch(new RegExp(`^${major}\\.\\d+$`))
    expect(server.url).toMatch(/^postgres:\/\/sagapost:[\w-]{32}@127\.0\.0\.1:\d+\/sagapost$/)
    const [row] = await query(
      server.url,
      `SELECT current_database() AS database, usesuper AS superuser, pg_encoding_to_char(encoding) AS encoding,
              datcollate AS collate, datlocprovider AS provider,
              current_setting('data_checksums') AS checksums, current_setting('TimeZone') AS timezone,
              current_setting('password_encryption') AS passwords, current_setting('listen_addresses') AS listen,
              current_setting('unix_socket_directories') AS sockets,
              current_setting('shared_buffers') AS buffers, current_setting('max_connections') AS connections,
              (SELECT array_agg(DISTINCT auth_method) FROM pg_hba_file_rules) AS auth
         FROM pg_user, pg_database WHERE usename = current_user AND datname = current_database()`,
    )
    expect(row).toEqual({
      database: 'sagapost',
      superuser: true,
      encoding: 'UTF8',
      collate: 'C',
      provider: 'c',
      checksums: 'on',
      timezone: 'UTC',
      passwords: 'scram-sha-256',
      listen: '127.0.0.1',
      sockets: '',
      buffers: '128MB',
      connections: '100',
      auth: ['scram-sha-256'],
    })
    const guess = server.url.replace(/:[^:@]*@/, ':guess@')
    await expect(query(guess, 'SELECT 1')).rejects.toThrow('password authentication failed')

    // Everything the server does happens in the directory: temporary files, parallel queries, reloads.
    const client = await connect(server.url)
    await client.query(`CREATE TABLE kept AS SELECT n, md5(n::text) AS text FROM generate_series(1, 50000) n`)
    await client.query(`SET work_mem = '64kB'; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0`)
    const plan = await client.query('EXPLAIN (ANALYZE) SELECT text FROM kept ORDER BY text')
    expect(JSON.stringify(plan.rows)).toMatch(
      /external merge[\s\S]*Workers Launched: [12]|Workers Launched: [12][\s\S]*external merge/,
    )
    await client.query(`ALTER SYSTEM SET log_min_messages = 'error'`)
    await client.query('SELECT pg_reload_conf()')
    await waitFor('the setting is reloaded', async () => {
      const { rows } = await client.query('SHOW log_min_messages')
      return rows[0].log_min_messages === 'error'
    })
    await client.query('CHECKPOINT')
    await server.stop()
    expect(await server.exited).toEqual({ code: 0, signal: null, expected: true })
    const again = await startServer(options)
    expect(await query(again.url, 'SELECT count(*)::int FROM kept')).toEqual([{ count: 50000 }])
    expect(await query(again.url, 'SHOW log_min_messages')).toEqual([{ log_min_messages: 'error' }])
  })
})

it('[O2] creates a durable directory that is closed to other users', async () => {
  const dataDir = join(makeFolder(), 'data')
  const server = await startServer({ dataDir })
  const names = ['owner.1.json', 'password', 'postgres', 'postgres.log', 'sagapost.json']
  expect(readdirSync(dataDir).sort()).toEqual(names)
  expect(modeOf(dataDir)).toBe('700')
  expect(modeOf(join(dataDir, 'postgres'))).toBe('700')
  expect(modeOf(join(dataDir, 'password'))).toBe('600')
  expect(modeOf(join(dataDir, 'postgres.log'))).toBe('600')
  expect(statSync(join(dataDir, 'password')).uid).toBe(process.getuid?.())
  expect(JSON.parse(readFileSync(join(dataDir, 'sagapost.json'), 'utf8'))).toMatchObject({ format: 1 })
  await server.stop()
  expect(readFileSync(join(dataDir, 'postgres.log'), 'utf8')).toMatch(
    /UTC \[\d+\] LOG: {2}database system is shut down/,
  )
})

it('[O2] gives the user a new password when the password file was deleted', async () => {
  const dataDir = await usedDataDir()
  const first = await startServer({ dataDir, settings: quick })
  await first.stop()
  rmSync(join(dataDir, 'password'))
  const second = await startServer({ dataDir, settings: quick })
  expect(second.url).not.toBe(first.url)
  expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

it('[O2] passes the server nothing of our environment, neither PostgreSQL settings nor secrets', async () => {
  const names = ['PGCLIENTENCODING', 'SAGAPOST_MASTER_KEY']
  for (const name of names) vi.stubEnv(name, 'ours')
  onTestFinished(() => void vi.unstubAllEnvs())
  const server = await startServer({ dataDir: await usedDataDir(), settings: quick })
  const environment = readFileSync(`/proc/${server.pid}/environ`, 'utf8')
  expect(environment).toContain('TZ=UTC')
  for (const name of names) expect(environment).not.toContain(name)
})

it('[O2] takes another port when the free one was taken first', async () => {
  const dataDir = await usedDataDir()
  const first = await startServer({ dataDir, settings: quick })
  await first.stop()
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  onTestFinished(() => void taken.close())
  const takenPort = (taken.address() as { port: number }).port
  const ports = [takenPort, takenPort]
  const clusterDir = join(dataDir, 'postgres')
  const owner = statSync(clusterDir)
  const cluster: Cluster = {
    dataDir,
    clusterDir,
    binaries: { initdb: '', postgres: join(native18, 'bin', 'postgres'), version: '18' },
    account: process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : undefined,
    durable: false,
  }
  const server = await launchServer(
    cluster,
    join(dataDir, 'postgres.log'),
    quick,
    async () => ports.shift() ?? freePort(),
  )
  expect(server.port).not.toBe(takenPort)
  expect(ports).toEqual([])
  server.child.kill('SIGINT')
  await server.exited
  expect(existsSync(join(clusterDir, 'postmaster.pid'))).toBe(false)
})
