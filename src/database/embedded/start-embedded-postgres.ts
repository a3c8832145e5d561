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
  /** SAGAPOST_DATA_DIR. Created if it does not exist. */
  dataDir: string
  /** The folder with bin, lib and share; by default the one of the platform's package. */
  nativeDir?: string
  /** Further server settings, such as fsync=off in tests. */
  settings?: Record<string, string>
  /** Where a copy of the programs goes if they cannot be used in place. */
  cacheDir?: string
}

export interface EmbeddedPostgres {
  /** The user is a superuser. */
  url: string
  dataDir: string
  /** The postmaster's pid. */
  pid: number
  /** For example "18.4". */
  version: string
  /** Stops the server and releases the data directory. May be called again, and after a crash. */
  stop(): Promise<void>
  /** Resolves when the server has exited for any reason; `expected` when `stop` ended it. */
  exited: Promise<ServerExit & { expected: boolean }>
}

/**
 * Starts an embedded PostgreSQL on a data directory, which it creates if needed. The server never outlives this
 * process, however it ends, and does not keep it alive. The caller handles signals.
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
    // For example a full disk. The server reports that itself, and a long log is no reason to exit.
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

/**
 * Gives a cluster that root copied or restored to the account: PostgreSQL refuses to run on one that belongs to root.
 */
async function adoptCluster(clusterDir: string, account: Account): Promise<void> {
  if ((await stat(clusterDir)).uid !== 0) return
  await adoptContents(clusterDir, account)
  // Last, so that an interrupted change of ownership is repeated.
  await lchown(clusterDir, account.uid, account.gid)
}

/** Never follows a link: its target is not part of the cluster. */
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
