import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { type FaultCluster, makeCluster } from '../../faults/system/make-cluster.js'
import { mountTmpfs, unmountTmpfs } from '../../faults/system/mount-tmpfs.js'
import { findFreePort, type Server, startServer } from '../../faults/system/start-server.js'
import { migrate } from '../../src/database/index.js'

export interface OwnPostgres {
  readonly server: Server
  readonly admin: pg.Pool
  readonly folder: string
  readonly cluster: FaultCluster
  /** A disk of its own, which a test may fill. */
  readonly hasDisk: boolean
  /** Changes a setting of the whole server, now. */
  set(name: string, value: string): Promise<void>
}

/** A migrated PostgreSQL of the file's own, for what would disturb every other test. */
export function useOwnPostgres({
  disk = false,
  settings = { fsync: 'off' },
}: {
  disk?: boolean
  settings?: Record<string, string>
} = {}): OwnPostgres {
  let folder: string
  let server: Server
  let admin: pg.Pool
  let hasDisk = false

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sagapost-outage-'))
    const dataFolder = join(folder, 'data')
    hasDisk = disk && (await mountTmpfs(dataFolder))
    const cluster = await makeCluster(join(dataFolder, 'primary'), join(folder, 'postgres.log'))
    server = await startServer(cluster, await findFreePort(), settings)
    await migrate({ databaseUrl: server.url })
    admin = new pg.Pool({ connectionString: server.url, max: 3 })
    admin.on('error', () => {})
  })
  afterAll(async () => {
    await admin?.end()
    await server?.stop()
    if (hasDisk) await unmountTmpfs(join(folder, 'data'))
    await rm(folder, { recursive: true, force: true })
  })

  return {
    get server() {
      return server
    },
    get admin() {
      return admin
    },
    get folder() {
      return folder
    },
    get cluster() {
      return server.cluster
    },
    get hasDisk() {
      return hasDisk
    },
    async set(name, value) {
      await admin.query(`ALTER SYSTEM SET ${name} = '${value}'`)
      await admin.query('SELECT pg_reload_conf()')
    },
  }
}
