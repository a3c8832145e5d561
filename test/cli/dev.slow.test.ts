import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { useDatabase } from '../support/database.js'
import { runCli, spawnCli } from '../support/spawn-cli.js'

const database = useDatabase({ migrated: false })
const READY = /Sagapost is ready at (http:\S+)/

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sagapost-dev-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('sagapost dev', () => {
  it('[O2] starts the embedded database, migrates it and answers; a signal stops all of it', async () => {
    const dataDir = join(folder, 'data')
    const env = { SAGAPOST_DATA_DIR: dataDir, PORT: '0' }
    const keys = new Set<string>()
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const dev = spawnCli(['dev'], env)
      const [, url = ''] = await dev.printed(READY)
      expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' })
      const readyz = await fetch(`${url}/readyz`)
      expect([readyz.status, await readyz.json()]).toEqual([200, { status: 'ready' }])
      const [, key = ''] = await dev.printed(/API key: (\S+)/)
      keys.add(key)
      const listed = await fetch(`${url}/v1/events`, { headers: { authorization: `Bearer ${key}` } })
      expect(listed.status).toBe(200)

      await dev.printed(/demo\.hello +evt_\d+_[0-9a-z]+ +attempt 1 +✓ verified +200 +\{"hello":"world"\}/)

      const second = await runCli(['dev'], env)
      expect(second.code).toBe(1)
      expect(second.stderr).toMatch(new RegExp(`${dev.child.pid}.*\\[data_dir_in_use\\]\\n$`))

      const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
      expect(isAlive(postmaster)).toBe(true)
      dev.child.kill(signal)
      expect(await dev.exit).toBe(0)
      expect(isAlive(postmaster)).toBe(false)
      expect(dev.stderr()).toBe('')
    }
    expect(keys.size).toBe(1)
  })

  it('[O2] ends with a clear line when its PostgreSQL dies', async () => {
    const dataDir = join(folder, 'crash')
    const dev = spawnCli(['dev'], { SAGAPOST_DATA_DIR: dataDir, PORT: '0' })
    await dev.printed(READY)
    const postmaster = Number(readFileSync(join(dataDir, 'postgres/postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(postmaster, 'SIGQUIT')
    expect(await dev.exit).toBe(1)
    expect(dev.stderr()).toMatch(/\[embedded_postgres_failed\]\n$/)
  })

  it('[O2] refuses a port that is taken, and stops the database that it had started', async () => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    const { code, stderr } = await runCli(['dev'], {
      SAGAPOST_DATA_DIR: join(folder, 'data'),
      PORT: String(port),
    })
    expect(code).toBe(1)
    expect(stderr).toContain(
      `sagapost: PORT ${port} on 127.0.0.1 is in use by another program [config_invalid]`,
    )
    taken.close()
  })
})

describe('sagapost dev on a database of the user', () => {
  it('[O2] reports not ready when the schema version is unknown to it, and keeps running', async () => {
    const dev = spawnCli(['dev'], {
      DATABASE_URL: database.url,
      PORT: '0',
      SAGAPOST_DATA_DIR: join(folder, 'key'),
    })
    const [, url = ''] = await dev.printed(READY)
    await database.pool.query('DELETE FROM sagapost.saga_schema_version WHERE version > 3')
    const readyz = await fetch(`${url}/readyz`)
    expect([readyz.status, await readyz.json()]).toEqual([
      503,
      { status: 'not_ready', obstacles: [{ code: 'schema_outdated', detail: expect.any(String) }] },
    ])
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    dev.child.kill('SIGTERM')
    expect(await dev.exit).toBe(0)
  })
})

describe('sagapost dev beside another migrator', () => {
  const migrated = useDatabase()

  it('[O2] is ended by a signal while it waits', async () => {
    await migrated.pool.query(`
      DELETE FROM sagapost.saga_schema_version
      WHERE version = (SELECT max(version) FROM sagapost.saga_schema_version)`)
    const other = await migrated.pool.connect()
    try {
      await other.query('BEGIN; LOCK TABLE sagapost.saga_schema_version IN SHARE UPDATE EXCLUSIVE MODE')
      const dev = spawnCli(['dev'], {
        DATABASE_URL: migrated.url,
        PORT: '0',
        SAGAPOST_DATA_DIR: join(folder, 'waiting'),
      })
      await dev.complained(/Another migration is running/)
      dev.child.kill('SIGTERM')
      expect(await dev.exit).toBe(0)
    } finally {
      await other.query('ROLLBACK')
      other.release()
    }
  })
})
