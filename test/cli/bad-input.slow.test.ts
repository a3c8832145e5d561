import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCli } from '../support/spawn-cli.js'

/** One clear line with the code, a non-zero exit, no stack trace, and no password. */
async function refusal(env: Record<string, string>): Promise<string> {
  const { code, stdout, stderr } = await runCli(['dev'], env)
  expect(code).toBe(1)
  expect(stdout).toBe('')
  expect(stderr).toMatch(/^sagapost: .+ \[[a-z0-9_]+\]\n$/)
  expect(stderr).not.toMatch(/\n\s+at |secret-word/)
  return stderr
}

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-bad-input-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('sagapost dev with a DATABASE_URL that cannot be used', () => {
  it.each([
    ['what is not a URL', 'not a url', 'database_url_invalid'],
    ['another protocol', 'mysql://root:secret-word@127.0.0.1/app', 'database_url_invalid'],
    ['no database name', 'postgres://u:secret-word@127.0.0.1:5432', 'database_url_invalid'],
    [
      'a certificate file that is not there',
      'postgres://u:secret-word@127.0.0.1:1/app?sslrootcert=/nowhere.pem',
      'database_unreachable',
    ],
    ['a port where nobody listens', 'postgres://u:secret-word@127.0.0.1:1/app', 'database_unreachable'],
    [
      'a host that does not exist',
      'postgres://u:secret-word@does-not-exist.invalid/app',
      'database_unreachable',
    ],
    ['a folder without a socket', 'postgres://u:secret-word@%2Fnowhere/app', 'database_unreachable'],
  ])('[O3] %s', async (_what, DATABASE_URL, code) => {
    expect(await refusal({ DATABASE_URL })).toContain(`[${code}]`)
  })
})

describe('a data directory that cannot be used', () => {
  it('[O3] a directory that holds something else', async () => {
    const dataDir = join(folder, 'photos')
    mkdirSync(dataDir)
    writeFileSync(join(dataDir, 'cat.jpg'), 'miaow')
    expect(await refusal({ SAGAPOST_DATA_DIR: dataDir })).toContain('[data_dir_not_ours]')
  })

  it('[O3] a directory that every user can write to, or that cannot be created', async () => {
    const dataDir = join(folder, 'open')
    mkdirSync(dataDir)
    chmodSync(dataDir, 0o777)
    expect(await refusal({ SAGAPOST_DATA_DIR: dataDir })).toContain('[data_dir_unusable]')
    expect(await refusal({ SAGAPOST_DATA_DIR: '/proc/nope/data' })).toContain('[data_dir_unusable]')
  })

  it('[O3] a file', async () => {
    const dataDir = join(folder, 'file')
    writeFileSync(dataDir, '')
    expect(await refusal({ SAGAPOST_DATA_DIR: dataDir })).toContain('[data_dir_unusable]')
  })
})
