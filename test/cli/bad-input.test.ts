import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { startEmbeddedPostgres } from '../../src/database/index.js'
import { hasPostgres14, nativeDirOf } from '../support/native-dir.js'
import { runCli } from '../support/spawn-cli.js'

/** One clear line with the code, a non-zero exit, no stack trace, and no password. */
async function refusal(args: string[], env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCli(args, env)
  expect(code).toBe(1)
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^sagapost: .+ \[[a-z_]+\]\n$/)
  expect(stderr).not.toMatch(/\n\s+at |secret-word/)
  return stderr
}

let folder: string
let mute: Server
let mutePort: number
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-bad-input-'))
  // Takes connections and hangs up.
  mute = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  mutePort = (mute.address() as { port: number }).port
})
afterAll(() => {
  mute.close()
  rmSync(folder, { recursive: true })
})

describe('a DATABASE_URL that cannot be used', () => {
  it.each([
    ['what is not a URL', 'not a url', 'database_url_invalid'],
    ['another protocol', 'mysql://root:secret-word@127.0.0.1/app', 'database_url_invalid'],
    ['a port where nobody listens', 'postgres://u:secret-word@127.0.0.1:1/app', 'database_unreachable'],
    [
      'a host that does not exist',
      'postgres://u:secret-word@does-not-exist.invalid/app',
      'database_unreachable',
    ],
    ['a folder without a socket', 'postgres://u:secret-word@%2Fnowhere/app', 'database_unreachable'],
  ])('[O3] %s', async (_what, DATABASE_URL, code) => {
    for (const command of ['migrate', 'dev']) {
      expect(await refusal([command], { DATABASE_URL })).toContain(`[${code}]`)
    }
  })

  it('[O3] a server that hangs up', async () => {
    const DATABASE_URL = `postgres://u:secret-word@127.0.0.1:${mutePort}/app`
    expect(await refusal(['migrate'], { DATABASE_URL })).toContain('[database_unreachable]')
  })

  it('[O3] a wrong password', async () => {
    const url = new URL(inject('serverUrl'))
    url.password = 'secret-word'
    expect(await refusal(['migrate'], { DATABASE_URL: url.href })).toContain('[database_login_refused]')
  })

  it('[O3] a database that does not exist', async () => {
    const url = new URL(inject('serverUrl'))
    url.pathname = '/nowhere'
    expect(await refusal(['migrate'], { DATABASE_URL: url.href })).toContain('[database_missing]')
  })

  it.runIf(hasPostgres14)('[O3] a server older than 15', async () => {
    const server = await startEmbeddedPostgres({ dataDir: join(folder, 'old'), nativeDir: nativeDirOf(14) })
    try {
      const line = await refusal(['migrate'], { DATABASE_URL: server.url })
      expect(line).toMatch(/PostgreSQL 14\.\d+.* is too old: Sagapost needs 15 or later \[postgres_too_old\]/)
    } finally {
      await server.stop()
    }
  })
})

describe('a data directory that cannot be used', () => {
  it('[O3] one that holds something else', async () => {
    const dataDir = join(folder, 'photos')
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'cat.jpg'), 'miaow')
    expect(await refusal(['dev'], { SAGAPOST_DATA_DIR: dataDir })).toContain('[data_dir_not_ours]')
  })

  it('[O3] a file', async () => {
    const dataDir = join(folder, 'file')
    writeFileSync(dataDir, '')
    expect(await refusal(['dev'], { SAGAPOST_DATA_DIR: dataDir })).toContain('[data_dir_unusable]')
  })
})

describe('other settings and words', () => {
  it.each(['eighty', '-1', '65536', '80.5', '0x50'])('[O2] PORT=%s stops the start', async (PORT) => {
    expect(await refusal(['dev'], { PORT })).toMatch(/PORT must be .*"?.*\[config_invalid\]/)
  })

  it('[O2] an unknown command or option is told, with a hint, and exits with 2', async () => {
    for (const args of [['delvier'], ['migrate', '--statsu']]) {
      const { code, stdout, stderr } = await runCli(args)
      expect(code).toBe(2)
      expect(stdout).toBe('')
      expect(stderr).toMatch(/^error: unknown (command|option) .*\n/)
      expect(stderr).toContain('sagapost --help')
    }
  })

  it('[O2] with --json the refusal is JSON too', async () => {
    const { code, stderr } = await runCli(['migrate', '--json'], { DATABASE_URL: 'nonsense' })
    expect(code).toBe(1)
    expect(JSON.parse(stderr)).toEqual({
      error: { code: 'database_url_invalid', detail: expect.stringContaining('DATABASE_URL') },
    })
  })
})
