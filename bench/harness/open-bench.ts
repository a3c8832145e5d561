import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/database/index.js'
import type { ReceiverCommands } from '../children/receive-requests.js'
import type { BenchOptions } from './read-options.js'
import { type Child, startChild } from './start-child.js'

/** One PostgreSQL (fsync on, its own defaults, over a Unix socket as libpq does by itself), one receiver, one folder for all parts of a run; `close` leaves nothing of them. */
export interface Bench {
  options: BenchOptions
  /** `optimised` is the compiler's flag, as in "-O2". */
  postgres: { pid: number; version: string; optimised: string }
  receiver: Child<ReceiverCommands> & { url: string; authority: string }
  folder: string
  /** A new database with a pool of its own for looking at it, as the owner. */
  createDatabase(name: string): Promise<{ url: string; pool: pg.Pool }>
  dropDatabase(name: string): Promise<void>
  /** Whatever is started is handed in here at once, and stopped in reverse order, however the run ends. */
  onStop(stop: () => Promise<unknown>): void
  say(line: string): void
}

export async function openBench(
  options: BenchOptions,
  postgresSettings: Record<string, string> = {},
): Promise<{ bench: Bench; close: () => Promise<void> }> {
  const stops: (() => Promise<unknown>)[] = []
  const close = async () => {
    for (const stop of stops.splice(0).reverse()) {
      await stop().catch((error: Error) => console.error(`Stopping was not clean: ${error.message}`))
    }
  }
  const startedAt = performance.now()
  const say = (line: string) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(5)
    process.stderr.write(`${seconds} s  ${line}\n`)
  }
  try {
    const folder = await mkdtemp(join(tmpdir(), 'sagapost-bench-'))
    stops.push(() => rm(folder, { recursive: true, force: true }))
    // A short path, open to the account of the server; connections need the password.
    const socketFolder = await mkdtemp(join(tmpdir(), 'sagapost-socket-'))
    stops.push(() => rm(socketFolder, { recursive: true, force: true }))
    await chmod(socketFolder, 0o1777)
    const server = await startEmbeddedPostgres({
      dataDir: join(folder, 'data'),
      settings: { ...postgresSettings, unix_socket_directories: socketFolder },
      ...(options.postgresFolder && { nativeDir: options.postgresFolder }),
    })
    stops.push(() => server.stop())
    const serverUrl = new URL(server.url)
    serverUrl.searchParams.set('host', socketFolder)
    const receiver = startChild<ReceiverCommands>('receive-requests.ts')
    stops.push(() => receiver.stop())
    const openPool = (url: string) => {
      const pool = new pg.Pool({ connectionString: url, max: 1 })
      pool.on('error', () => {}) // a connection that the stopping server ends
      return pool
    }
    const admin = openPool(serverUrl.href)
    stops.push(() => admin.end())
    const pools = new Map<string, pg.Pool>()
    const { rows } = await admin.query<{ flags: string }>(
      `SELECT setting AS flags FROM pg_config WHERE name = 'CFLAGS'`,
    )
    const bench: Bench = {
      options,
      postgres: {
        pid: server.pid,
        version: server.version,
        optimised: rows[0]?.flags.match(/-O\w+/g)?.at(-1) ?? 'not known',
      },
      receiver: Object.assign(receiver, await receiver.call('start')),
      folder,
      async createDatabase(name) {
        await admin.query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`)
        const url = new URL(serverUrl)
        url.pathname = name
        const pool = openPool(url.href)
        pools.set(name, pool)
        stops.push(() => (pools.delete(name) ? pool.end() : Promise.resolve()))
        return { url: url.href, pool }
      },
      async dropDatabase(name) {
        const pool = pools.get(name)
        if (!pools.delete(name)) return
        await pool?.end()
        await admin.query(`DROP DATABASE ${pg.escapeIdentifier(name)}`)
      },
      onStop: (stop) => stops.push(stop),
      say,
    }
    return { bench, close }
  } catch (error) {
    await close()
    throw error
  }
}
