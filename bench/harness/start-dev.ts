import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuSeconds, withChildren } from './read-usage.js'
import { endChild } from './start-child.js'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export interface Dev {
  url: string
  /** CPU seconds so far, of the process and of its PostgreSQL; NaN where there is no /proc. */
  spentS(): { node: number; postgres: number }
  /** Waits until it has ended, and removes its data. */
  stop(): Promise<void>
}

/** `sagapost dev` as it was built, with an embedded PostgreSQL in a folder of its own; resolves when it is ready. */
export async function startDev(settings: Readonly<Record<string, string>> = {}): Promise<Dev> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sagapost-bench-dev-'))
  const child = spawn(process.execPath, [main, 'dev'], {
    env: { ...process.env, SAGAPOST_DATA_DIR: dataDir, PORT: '0', DATABASE_URL: '', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stop = async () => {
    await endChild(child, () => child.kill('SIGTERM'))
    rmSync(dataDir, { recursive: true })
  }
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('it did not start')))
  // Later output must be read too, or the pipe would break.
  const ready = new Promise<string>((resolve) => {
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
      const url = printed.includes('is ready at') && /http:\/\/[\d.]+:\d+/.exec(printed)?.[0]
      if (url) resolve(url)
    })
  })
  try {
    const url = await Promise.race([ready, ended])
    const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
    const spentBy = (pids: readonly number[]) => cpuSeconds(pids) ?? Number.NaN
    const spentS = () => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('it has ended')
      return { node: spentBy([child.pid as number]), postgres: spentBy(withChildren(postmaster)) }
    }
    return { url, spentS, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
