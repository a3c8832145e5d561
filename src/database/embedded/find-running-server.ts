import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { readPostmasterFile } from './read-postmaster-file.js'
import { findServerProcesses } from './stop-stale-server.js'

/**
 * The URL of the server that another process of ours runs on this data directory; undefined when none takes
 * connections there. A look and no more: nothing is owned, made or waited for.
 */
export async function findRunningServer(dataDir: string): Promise<string | undefined> {
  const folder = resolve(dataDir)
  const clusterDir = join(folder, 'postgres')
  const file = await readPostmasterFile(clusterDir).catch(() => undefined)
  if (!file?.ready || file.port === undefined) return undefined
  // After a crash the file is still there, and its port may be anybody's: the password must not go to them.
  if (!findServerProcesses(clusterDir, file.pid).includes(file.pid)) return undefined
  const password = await readFile(join(folder, 'password'), 'utf8').catch(() => undefined)
  if (password === undefined) return undefined
  return `postgres://sagapost:${password.trim()}@127.0.0.1:${file.port}/sagapost`
}
