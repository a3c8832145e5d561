import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { freePort } from '../support/free-port.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

it('[O2, E3] the quick start of the README works unchanged: start, curl, command line, deliveries', async () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const [install = '', ...commands] = [...readme.matchAll(/^```sh\n(.*?)^```/gms)].map(
    ([, block]) => block ?? '',
  )
  expect(install).toBe('npm ci && npm start\n')
  expect(commands.length).toBeGreaterThanOrEqual(2)

  // Another port and another folder than a developer's own; nothing else is changed.
  const port = await freePort()
  const dataDir = join(mkdtempSync(join(tmpdir(), 'sagapost-readme-')), '.sagapost')
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: process.env['HOME'] ?? '',
    NO_COLOR: '1',
    PORT: String(port),
    SAGAPOST_DATA_DIR: dataDir,
  }
  const start = spawn('npm', ['start'], { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [start.stdout, start.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      printed += text
    })
  }
  const ended = once(start, 'close')
  try {
    const arrived = (payload: string) =>
      expect
        .poll(() => printed)
        .toMatch(
          new RegExp(
            `demo\\.hello +evt_\\d+_[0-9a-z]+ +attempt 1 +✓ verified +200 +${payload.replaceAll(/[{}]/g, '\\$&')}`,
          ),
        )
    await arrived('{"hello":"world"}')
    for (const command of commands.slice(0, 2)) {
      const asItStands = command.replaceAll(':8080', `:${port}`).replaceAll('.sagapost/', `${dataDir}/`)
      await run('bash', ['-c', `set -e\n${asItStands}`], { cwd: root, env })
    }
    await arrived('{"hello": "curl"}')
    await arrived('{"hello": "you"}')
  } finally {
    // As a terminal does it at Ctrl-C: to npm, its shell and what that runs.
    process.kill(-(start.pid as number), 'SIGINT')
    await ended
    rmSync(join(dataDir, '..'), { recursive: true })
  }
})
