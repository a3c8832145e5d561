import { execFile } from 'node:child_process'
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const LIST_BYTES_MAX = 64 * 1024 * 1024

export interface RepositoryCopy {
  folder: string
  /** For whatever the tests put aside: it goes with the copy, also when they are killed. */
  scratch: string
  remove(): Promise<void>
}

/** The working tree's tracked and unignored files, with the dependencies of the original. */
export async function copyRepository(root: string): Promise<RepositoryCopy> {
  const made = await mkdtemp(join(tmpdir(), 'sagapost-mutants-'))
  const remove = () => rm(made, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 })
  try {
    // PostgreSQL runs as another user when we are root, and its files lie below.
    await chmod(made, 0o755)
    const folder = join(made, 'copy')
    const scratch = join(made, 'scratch')
    await mkdir(scratch)
    const { stdout } = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: root,
      maxBuffer: LIST_BYTES_MAX,
    })
    for (const file of stdout.split('\0').filter((each) => each !== '')) {
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await copyFile(join(root, file), join(folder, file)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error // deleted, and git has not been told yet
      })
    }
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'), 'dir')
    return { folder, scratch, remove }
  } catch (error) {
    await remove()
    throw error
  }
}
