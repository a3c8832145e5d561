import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadMigrations, migrationsFolder } from '../../src/database/index.js'
import { useDatabase } from '../support/database.js'
import { runCli } from '../support/run-cli.js'

const database = useDatabase({ migrated: false })
const env = { DATABASE_URL: database.url }

describe('sagapost migrate --status', () => {
  it('[G11] creates no database where there is none', async () => {
    const dataDir = join(tmpdir(), `sagapost-status-${process.pid}`)
    const { code, stdout } = await runCli(['migrate', '--status'], { SAGAPOST_DATA_DIR: dataDir })
    expect(code).toBe(0)
    expect(stdout).toMatch(/^0001 {2}clock_and_roles +pending$/m)
    expect(existsSync(dataDir)).toBe(false)
  })
})

describe('sagapost migrate', () => {
  it('[G11] shows the status, applies migrations, and says when there are none to apply', async () => {
    const migrations = await loadMigrations(migrationsFolder)
    const before = await runCli(['migrate', '--status'], env)
    expect(before).toMatchObject({ code: 0, stderr: '' })
    expect(before.stdout.trim().split('\n')).toHaveLength(migrations.length)
    expect(before.stdout).toMatch(/^0001 {2}clock_and_roles +pending$/m)

    const applied = await runCli(['migrate'], env)
    expect(applied).toMatchObject({ code: 0, stderr: '' })
    expect(applied.stdout.trim().split('\n')).toEqual(migrations.map(({ file }) => `applied ${file}`))

    expect(await runCli(['migrate'], env)).toEqual({
      code: 0,
      stdout: 'The schema is up to date\n',
      stderr: '',
    })
    const after = await runCli(['migrate', '--status', '--json'], env)
    expect(JSON.parse(after.stdout)).toEqual({
      migrations: migrations.map(({ version, name }) => ({ version, name, appliedAt: expect.any(String) })),
    })
    expect(await runCli(['migrate', '--json'], env)).toEqual({
      code: 0,
      stdout: '{"applied":[]}\n',
      stderr: '',
    })
  })
})
