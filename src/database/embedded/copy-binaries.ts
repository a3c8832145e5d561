import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { chmod, cp, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { completeBinaries } from './complete-binaries.js'

const placeAttemptsMax = 5

/** Candidate folders for copies, best first. A temporary folder comes last: some systems empty it while we run. */
export function cacheRoots(cacheDir: string | undefined): string[] {
  if (cacheDir !== undefined) return [cacheDir]
  const { HOME, XDG_CACHE_HOME } = process.env
  const own = process.getuid?.() === 0 ? '/var/cache' : XDG_CACHE_HOME || (HOME && join(HOME, '.cache'))
  return own ? [own, tmpdir()] : [tmpdir()]
}

/**
 * Returns the copy of the `native` folder in the cache folder, creating it if needed (60 MB, 0.7 s). Its name is a hash
 * of its content, so a damaged copy is noticed and made again.
 */
export async function copyBinaries(nativeDir: string, cacheRoot: string): Promise<string> {
  const fingerprint = await fingerprintBinaries(nativeDir)
  const copy = join(cacheRoot, `sagapost-postgres-${fingerprint}`)
  if (await isTrusted(copy, fingerprint)) return copy
  await mkdir(cacheRoot, { recursive: true })
  const scratch = await mkdtemp(`${copy}.`)
  try {
    const made = join(scratch, 'made')
    await cp(nativeDir, made, { recursive: true, mode: constants.COPYFILE_FICLONE, verbatimSymlinks: true })
    await completeBinaries(made)
    for (const { path, directory } of await listFiles(made)) {
      await chmod(path, directory || path.startsWith(join(made, 'bin')) ? 0o755 : 0o644)
    }
    await chmod(made, 0o755)
    // A folder that has files in it is never replaced. The first process puts its copy there; a damaged copy is moved
    // out of the way first.
    for (let attempt = 1; attempt <= placeAttemptsMax; attempt++) {
      const placed = await rename(made, copy).then(
        () => true,
        () => false,
      )
      if (placed || (await isTrusted(copy, fingerprint))) return copy
      await rename(copy, join(scratch, `old-${attempt}`)).catch(() => undefined)
    }
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
  throw new Error(`${copy} is not ours`)
}

/** True when the copy is owned by us, writable by no other user, and complete. */
async function isTrusted(copy: string, fingerprint: string): Promise<boolean> {
  const found = await lstat(copy).catch(() => undefined)
  if (!found?.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) return false
  // Another process may move it away during the check.
  return (await fingerprintBinaries(copy).catch(() => '')) === fingerprint
}

/** Names and sizes of all files, and the list of symlinks, which contains the libraries' versions. */
async function fingerprintBinaries(nativeDir: string): Promise<string> {
  const hash = createHash('sha256')
  for (const { path, size, directory } of await listFiles(nativeDir)) {
    if (!directory) hash.update(`${path.slice(nativeDir.length)} ${size}\n`)
  }
  hash.update(await readFile(join(nativeDir, 'pg-symlinks.json'), 'utf8').catch(() => ''))
  return hash.digest('hex').slice(0, 16)
}

async function listFiles(folder: string): Promise<{ path: string; size: number; directory: boolean }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => !entry.isSymbolicLink())
  const listed = files.map(async (entry) => {
    const path = join(entry.parentPath, entry.name)
    return { path, size: (await lstat(path)).size, directory: entry.isDirectory() }
  })
  return (await Promise.all(listed)).sort((a, b) => (a.path < b.path ? -1 : 1))
}
