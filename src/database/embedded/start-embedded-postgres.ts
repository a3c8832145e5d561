import { existsSync } from 'node:fs'
import { lchown, readdir, readFile, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { SagapostError } from '../../errors/index.js'
import { boundLog } from './bound-log.js'
import { type Account, chooseAccount } from './choose-account.js'
import { type Cluster, initialiseCluster, readPassword } from './initialise-cluster.js'
import { type LaunchedServer, launchServer, type ServerExit } from './launch-server.js'
import { locateBinaries } from './locate-binaries.js'
import { openDataDir, writeMarker } from './open-data-dir.js'
import { prepareBinaries } from './prepare-binaries.js'
import { stopServer } from './stop-server.js'
import { stopStaleServer } from './stop-stale-server.js'
import { takeOwnership } from './take-ownership.js'

const logCheckMs = 60_000

export interface EmbeddedPostgresOptions {
  /** SAGAPOST_DATA_DIR. Made if it does not exist. */
  dataDir: string
  /** The folder with bin, lib and share; by default that of the package for this platform. */
  nativeDir?: string
  /** Further server settings, such as fsync=off in tests. */
  settings?: Record<string, string>
  /** Where a copy of the programs goes if they cannot be used where they are. */
  cacheDir?: string
}

export interface EmbeddedPostgres {
  /** The user is a superuser. */
  url: string
  dataDir: string
  /** The postmaster's. */
  pid: number
  /** As in "18.4". */
  version: string
  /** Ends the server and gives the data directory free. May be called again, and after a crash. */
  stop(): Promise<void>
  /** Resolves when the server has ended, whoever ended it; `expected` when it was `stop`. */
  exited: Promise<ServerExit & { expected: boolean }>
}

/**
 * Starts a PostgreSQL of our own on a data directory, and makes the directory first if need be. The server
 * never outlives this process, however that ends, and does not keep it from ending. Signals are the
 * caller's to handle.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const nativeDir = resolve(options.nativeDir ?? locateBinaries())
  const dataDir = resolve(options.dataDir)
  try {
    await openDataDir(dataDir)
    const ownership = await takeOwnership(dataDir)
    try {
      await writeMarker(dataDir)
      return await startOwned({ ...options, dataDir, nativeDir }, ownership.release)
    } catch (error) {
      await ownership.release()
      throw error
    }
  } catch (error) {
    if (error instanceof SagapostError || !isSystemError(error)) throw error
    const message = `The data directory ${dataDir} cannot be used: ${error.message}`
    throw new SagapostError('data_dir_unusable', message, { cause: error })
  }
}

async function startOwned(
  options: EmbeddedPostgresOptions & { nativeDir: string },
  release: () => Promise<void>,
): Promise<EmbeddedPostgres> {
  const { dataDir, nativeDir, settings = {}, cacheDir } = options
  const clusterDir = join(dataDir, 'postgres')
  const account = await chooseAccount(clusterDir)
  const binaries = await prepareBinaries(nativeDir, account, cacheDir)
  const cluster: Cluster = { dataDir, clusterDir, binaries, account, durable: settings.fsync !== 'off' }
  const exists = existsSync(clusterDir)
  if (exists) {
    await checkClusterVersion(clusterDir, binaries.version)
    await stopStaleServer(clusterDir)
    if (account) await adoptCluster(clusterDir, account)
  }
  const password = exists ? await readPassword(cluster) : await initialiseCluster(cluster)
  const logFile = join(dataDir, 'postgres.log')
  const server = await launchServer(cluster, logFile, settings)
  const url = `postgres://sagapost:${password}@127.0.0.1:${server.port}/sagapost`
  return { url, dataDir, version: binaries.version, ...superviseServer(server, logFile, release) }
}

function superviseServer(server: LaunchedServer, logFile: string, release: () => Promise<void>) {
  const { child, exited } = server
  const logTimer = setInterval(() => tryBoundLog(logFile), logCheckMs).unref()
  const handles = [child, ...child.stdio.filter((stream) => stream !== null)] as {
    ref?(): void
    unref?(): void
  }[]
  for (const handle of handles) handle.unref?.()
  let stopping: Promise<void> | undefined
  const stop = async () => {
    for (const handle of handles) handle.ref?.()
    const gone = (limitMs: number) => {
      const timer = new AbortController()
      const late = sleep(limitMs, false, { signal: timer.signal }).catch(() => false)
      return Promise.race([exited.then(() => true), late]).finally(() => timer.abort())
    }
    await stopServer({ signal: (name) => child.kill(name), gone })
    await release()
  }
  return {
    pid: child.pid as number,
    stop: () => {
      stopping ??= stop()
      return stopping
    },
    exited: exited.then((exit) => {
      clearInterval(logTimer)
      return { ...exit, expected: stopping !== undefined }
    }),
  }
}

function tryBoundLog(logFile: string): void {
  try {
    boundLog(logFile)
  } catch {
    // A full disk, say. The server tells of that itself, and a long log is no reason to end.
  }
}

async function checkClusterVersion(clusterDir: string, version: string): Promise<void> {
  const found = Number(await readFile(join(clusterDir, 'PG_VERSION'), 'utf8'))
  const ours = Number.parseInt(version, 10)
  if (found > ours) {
    throw new SagapostError(
      'data_dir_newer',
      `The data in ${clusterDir} belong to PostgreSQL ${found}, this Sagapost brings ${ours}; use the newer release`,
    )
  }
  if (found < ours) {
    throw new SagapostError(
      'data_dir_older_postgres',
      `The data in ${clusterDir} belong to PostgreSQL ${found}, this Sagapost brings ${ours}; dump them with the earlier release (pg_dump) and restore them into a new data directory`,
    )
  }
}

/** A cluster that root has copied or restored belongs to root, and PostgreSQL would refuse it. */
async function adoptCluster(clusterDir: string, account: Account): Promise<void> {
  if ((await stat(clusterDir)).uid !== 0) return
  await adoptContents(clusterDir, account)
  // Last, so that an interrupted change of hands is begun again.
  await lchown(clusterDir, account.uid, account.gid)
}

/** Never through a link: what it leads to is not part of the cluster. */
async function adoptContents(folder: string, account: Account): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await adoptContents(path, account)
    await lchown(path, account.uid, account.gid)
  }
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error
}
