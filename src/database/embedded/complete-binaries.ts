import { chmod, readFile, stat, symlink } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'

/**
 * npm packs neither symlinks nor, always, executable bits. The package's install script makes them, unless
 * it was kept from running (`npm ci --ignore-scripts`). Several processes may do this at once.
 */
export async function completeBinaries(nativeDir: string): Promise<void> {
  const list = await readFile(join(nativeDir, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(nativeDir, relative('native', target))
    if (await stat(path).catch(() => undefined)) continue
    // All of them point to a file beside themselves.
    await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
  for (const name of ['initdb', 'postgres']) {
    const path = join(nativeDir, 'bin', name)
    if (((await stat(path)).mode & 0o111) !== 0o111) await chmod(path, 0o755)
  }
}
