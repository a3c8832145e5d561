import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface PostmasterFile {
  pid: number
  port: number | undefined
  ready: boolean
}

/** Reads what a running server reports in `postmaster.pid`; undefined when there is no such file. */
export async function readPostmasterFile(clusterDir: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(clusterDir, 'postmaster.pid'), 'utf8').catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    },
  )
  if (text === undefined) return undefined
  // Lines: pid, data directory, start, port, socket directory, listen address, shared memory, status.
  const lines = text.split('\n').map((line) => line.trim())
  return { pid: Number(lines[0]), port: Number(lines[3]) || undefined, ready: lines[7] === 'ready' }
}
