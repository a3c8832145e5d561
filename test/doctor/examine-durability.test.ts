import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  connect,
  createRolePool,
  type EmbeddedPostgres,
  loadMigrations,
  migrate,
  migrationsFolder,
  startEmbeddedPostgres,
} from '../../src/database/index.js'
import { examineSystem } from '../../src/doctor/index.js'

/** A server as it comes, and what an administrator then does to it. */
describe('the doctor', () => {
  let folder: string
  let server: EmbeddedPostgres
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sagapost-durability-'))
    server = await startEmbeddedPostgres({ dataDir: join(folder, 'data') })
    await migrate({ databaseUrl: server.url })
  })
  afterAll(async () => {
    await server.stop()
    await rm(folder, { recursive: true })
  })

  const examine = async () => {
    const findings = await examineSystem({
      as: async (role, work) => {
        const pool = createRolePool({ databaseUrl: server.url, role, connectionsMax: 1 })
        return await work(pool).finally(() => pool.end())
      },
      migrations: await loadMigrations(migrationsFolder),
    })
    return findings.filter(({ check }) => check === 'durability')
  }
  const administer = async (...statements: string[]) => {
    const owner = await connect(server.url)
    for (const statement of statements) await owner.query(statement)
    await owner.end()
  }
  const found = async () =>
    (await examine()).map(({ severity, detail, remedy }) =>
      [`${severity}: ${detail}`, ...(remedy ? [remedy] : [])].join('; '),
    )

  it('[S22, O6] reports that commits wait for the disk', async () => {
    expect(await examine()).toEqual([
      { check: 'durability', severity: 'ok', detail: 'commits wait for the disk' },
    ])
  })

  it('[S22, O6] names where synchronous_commit is set (database, login, or login in this database) and how to reset it', async () => {
    await administer(
      'CREATE ROLE shop LOGIN IN ROLE event_publisher',
      'CREATE ROLE stranger LOGIN',
      'ALTER ROLE stranger SET synchronous_commit = off',
      'ALTER ROLE shop SET synchronous_commit = remote_apply',
    )
    expect(await found()).toEqual(['ok: commits wait for the disk'])
    await administer(
      'ALTER DATABASE sagapost SET synchronous_commit = off',
      'ALTER ROLE shop SET synchronous_commit = local',
      'ALTER ROLE shop IN DATABASE sagapost SET synchronous_commit = off',
    )
    const lines = await found()
    expect(lines).toEqual([
      expect.stringMatching(
        /^attention: synchronous_commit is off: .*; ALTER DATABASE sagapost RESET synchr/,
      ),
      expect.stringMatching(/^attention: synchronous_commit is local: .*; ALTER ROLE shop RESET synchr/),
      expect.stringMatching(
        /^attention: synchronous_commit is off: .*; ALTER ROLE shop IN DATABASE sagapost RESET synchr/,
      ),
    ])
    await administer(...lines.map((line) => line.split('; ').at(-1) as string))
    expect(await found()).toEqual(['ok: commits wait for the disk'])
  })

  it('[S22, O6] names fsync, full_page_writes and synchronous_commit that are off for the whole server', async () => {
    await administer(
      'ALTER SYSTEM SET fsync = off',
      'ALTER SYSTEM SET full_page_writes = off',
      'ALTER SYSTEM SET synchronous_commit = off',
      'SELECT pg_reload_conf()',
    )
    const expected = ['fsync', 'full_page_writes', 'synchronous_commit'].map((name) =>
      expect.stringMatching(
        new RegExp(`^attention: ${name} is off: .*; Set ${name} = on in postgresql\\.conf$`),
      ),
    )
    await expect.poll(found).toEqual(expected)
  })
})
