import { chmod, readFile, stat, symlink } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'

/**
 * npm does not pack symlinks, nor always executable bits. The package's install script creates them unless it was
 * skipped (`npm ci --ignore-scripts`). Safe to run in several processes at once.
 */
export async function completeBinaries(nativeDir: string): Promise<void> {
  const list = await readFile(join(nativeDir, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const path = join(nativeDir, relative('native', target))
    if (await stat(path).catch(() => undefined)) continue
    // Every symlink points to a file in its own folder.
    await symlink(basename(source), path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
  for (const name of ['initdb', 'postgres']) {
    const path = join(nativeDir, 'bin', name)
    if (((await stat(path)).mode & 0o111) !== 0o111) await chmod(path, 0o755)
  }
}
