import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect } from 'vitest'
import type { TestDatabase } from '../support/database.js'
import { type CliProcess, spawnCli } from '../support/spawn-cli.js'

export const masterKey = Buffer.alloc(32, 7)
export const LOOPBACK = '127.0.0.0/8'

export interface Processes {
  /** `sagapost serve --only …` in a process of its own, once it says that it serves. */
  serve(only: string, settings?: Record<string, string>): Promise<CliProcess>
  /** SIGTERM to all that still run; every one must end by itself, with 0 and without a complaint. */
  stopCleanly(): Promise<void>
}

/** Real processes on the file's database, trusting the receiver's authority. A test that fails leaves none behind. */
export function useProcesses(database: TestDatabase, authority: () => string): Processes {
  const folder = mkdtempSync(join(tmpdir(), 'sagapost-e2e-'))
  const running = new Set<CliProcess>()
  afterEach(async () => {
    for (const { child } of running) child.kill('SIGKILL')
    await Promise.all([...running].map(({ exit }) => exit))
    running.clear()
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  return {
    async serve(only, settings = {}) {
      const authorities = join(folder, 'authority.pem')
      writeFileSync(authorities, authority())
      const started = spawnCli(['serve', '--only', only], {
        DATABASE_URL: database.url,
        SAGAPOST_API_KEY: 'the-administrators-key-of-the-environment',
        SAGAPOST_MASTER_KEY: masterKey.toString('base64'),
        SAGAPOST_ALLOWED_CIDRS: LOOPBACK,
        SAGAPOST_LEASE_DURATION: '60s',
        SAGAPOST_REQUEST_TIMEOUT: '30s',
        NODE_EXTRA_CA_CERTS: authorities,
        ...settings,
      })
      running.add(started)
      void started.exit.then(() => running.delete(started))
      await started.printed(/"msg":"serving"/)
      return started
    },
    async stopCleanly() {
      const stopping = [...running]
      for (const { child } of stopping) child.kill('SIGTERM')
      const ends = await Promise.all(
        stopping.map(async ({ exit, stderr }) => ({ exit: await exit, stderr: stderr() })),
      )
      expect(ends).toEqual(stopping.map(() => ({ exit: 0, stderr: '' })))
    },
  }
}
