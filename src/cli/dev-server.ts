import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const fileIn = (dataDir: string) => join(dataDir, 'server')

/** Records the URL of a running `sagapost dev` in its data directory: its API key is for that server only. */
export async function noteDevServer(dataDir: string, url: string): Promise<{ remove(): Promise<void> }> {
  const file = fileIn(dataDir)
  await writeFile(file, `${url} ${process.pid}\n`, { mode: 0o600 })
  return { remove: () => rm(file, { force: true }) }
}

/** The URL of the `sagapost dev` that runs on this data directory; undefined when none runs, also after a kill. */
export async function findDevServer(dataDir: string): Promise<string | undefined> {
  const text = await readFile(fileIn(dataDir), 'utf8').catch(() => '')
  const [url, pid] = text.trim().split(' ')
  return url && pid && isRunning(Number(pid)) ? url : undefined
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
