import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)
const SIZE_MB = 1_500

/** Mounts a small file system, so that filling it affects nothing else. False where this machine forbids it. */
export async function mountTmpfs(folder: string): Promise<boolean> {
  await mkdir(folder, { recursive: true })
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=755`, 'tmpfs', folder])
    return true
  } catch {
    return false
  }
}

export async function unmountTmpfs(folder: string): Promise<void> {
  await run('umount', [folder])
}
