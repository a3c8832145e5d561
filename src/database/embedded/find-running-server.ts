import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { readPostmasterFile } from './read-postmaster-file.js'
import { findServerProcesses } from './stop-stale-server.js'

/**
 * Returns the URL of the server that another Sagapost process runs on this data directory, or undefined when none takes
 * connections. Only looks: it owns, creates and waits for nothing.
 */
export async function findRunningServer(dataDir: string): Promise<string | undefined> {
  const folder = resolve(dataDir)
  const clusterDir = join(folder, 'postgres')
  const file = await readPostmasterFile(clusterDir).catch(() => undefined)
  if (!file?.ready || file.port === undefined) return undefined
  // After a crash the file remains, and its port may belong to another program, which must not get the password.
  if (!findServerProcesses(clusterDir, file.pid).includes(file.pid)) return undefined
  const password = await readFile(join(folder, 'password'), 'utf8').catch(() => undefined)
  if (password === undefined) return undefined
  return `postgres://sagapost:${password.trim()}@127.0.0.1:${file.port}/sagapost`
}
