import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findRunningServer } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { runCli, spawnCli } from '../support/spawn-cli.js'

const database = useDatabase({ migrated: false })

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-beside-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('beside a running sagapost dev', () => {
  it('[O2] verbs find the server and its key, and keys, migrate and the doctor its database; without it they still work', async () => {
    const dataDir = join(folder, 'data')
    const env = { SAGAPOST_DATA_DIR: dataDir, PORT: '0' }
    const early = await runCli(['keys', 'list'], env)
    expect([early.code, early.stderr]).toEqual([1, expect.stringMatching(/npm start.*\[database_missing\]/)])

    const dev = spawnCli(['dev', '--no-demo'], env)
    const [, url = ''] = await dev.printed(/Sagapost is ready at (http:\S+)/)
    // Whatever its port is; and its key is for no other.
    const published = await runCli(['publish', 'dev.order', '{"n":1}'], env)
    expect(published).toMatchObject({ code: 0, stderr: '' })
    const other = await runCli(['events', 'list'], { ...env, SAGAPOST_URL: 'http://127.0.0.1:1' })
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining(`at ${url}, not for`)])
    expect(other.stderr).toContain('[config_invalid]')

    const created = await runCli(['keys', 'create', '--scope', 'read', '--name', 'me', '--json'], env)
    expect(created).toMatchObject({ code: 0, stderr: '' })
    const { key } = JSON.parse(created.stdout)
    const listed = await runCli(['events', 'list', '--json'], { ...env, SAGAPOST_API_KEY: key })
    expect(JSON.parse(listed.stdout).data).toMatchObject([{ type: 'dev.order' }])
    const status = await runCli(['migrate', '--status'], env)
    expect([status.code, status.stderr]).toEqual([0, ''])
    expect(status.stdout).not.toContain('pending')
    // The embedded database has one login, which owns the schema.
    const health = await runCli(['doctor'], env)
    expect([health.code, health.stdout.match(/^.* roles .*$/m)?.[0]]).toEqual([
      0,
      'ok         roles         the login can assume all 10 roles of the parts',
    ])

    expect(await findRunningServer(dataDir)).toContain('@127.0.0.1:')
    const file = join(dataDir, 'postgres/postmaster.pid')
    const left = readFileSync(file, 'utf8')
    dev.child.kill('SIGTERM')
    expect(await dev.exit).toBe(0)
    expect(await findRunningServer(dataDir)).toBeUndefined()
    writeFileSync(file, left) // as after a power cut: the server's file is there, the server is not
    expect(await findRunningServer(dataDir)).toBeUndefined()
    const later = await runCli(['keys', 'list'], env)
    expect([later.code, later.stdout]).toEqual([0, expect.stringMatching(/^1 +me +read /m)])
    // Its port may be another program's by now.
    const gone = await runCli(['events', 'list'], env)
    expect([gone.code, gone.stderr]).toEqual([
      1,
      expect.stringMatching(/no sagapost dev is running.*\[config_invalid\]/),
    ])
    writeFileSync(join(dataDir, 'server'), `${url} ${dev.child.pid}\n`)
    expect((await runCli(['events', 'list'], env)).stderr).toContain('no sagapost dev is running')
    const away = await runCli(['events', 'list'], { ...env, SAGAPOST_URL: 'http://127.0.0.1:1' })
    expect([away.code, away.stderr]).toEqual([1, expect.stringContaining('[server_unreachable]')])
  })

  it('[O2] keys on a database without our schema say what to do', async () => {
    const env = { DATABASE_URL: database.url }
    const { code, stderr } = await runCli(['keys', 'list'], env)
    expect([code, stderr]).toEqual([1, expect.stringMatching(/sagapost migrate.*\[schema_outdated\]\n$/)])
    const wrong = await runCli(['keys', 'list'], { DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/app' })
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('[database_unreachable]')])
  })
})
