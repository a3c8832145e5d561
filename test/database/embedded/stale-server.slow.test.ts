import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { findServerProcesses } from '../../../src/database/embedded/stop-stale-server.js'
import { findWatchers } from './find-watchers.js'
import { findServers, makeFolder, quick, useDataDir } from './make-folder.js'
import { connect, query } from './query-server.js'
import { spawnServerProcess, startServerProcess } from './spawn-process.js'
import { startServer } from './start-server.js'
import { waitFor } from './wait-for.js'

const usedDataDir = useDataDir()

it('[O2] stops the server of a process that was killed together with its watcher, and starts a new one', async () => {
  const dataDir = await usedDataDir()
  const logFile = join(dataDir, 'postgres.log')
  truncateSync(logFile)
  const { child, answer, ended } = await startServerProcess({ dataDir, settings: quick })
  await query(answer.url, 'CREATE TABLE kept AS SELECT 7 AS n')
  for (const pid of findWatchers(answer.pid)) process.kill(pid, 'SIGKILL')
  await waitFor('the watcher is gone', () => findWatchers(answer.pid).length === 0)
  child.kill('SIGKILL')
  await ended
  expect(await query(answer.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }])
  const server = await startServer({ dataDir, settings: quick })
  expect(server.pid).not.toBe(answer.pid)
  expect(findServers(dataDir)).not.toContain(answer.pid)
  expect(await query(server.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }])
  const log = readFileSync(logFile, 'utf8')
  expect(log).toContain('received fast shutdown request')
  expect(log).not.toContain('not properly shut down')
})

it('[O2] recovers from a killed server whose backend is still at work', async () => {
  const dataDir = await usedDataDir()
  const first = await startServer({ dataDir, settings: quick })
  const client = await connect(first.url)
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  client.query('DO $$ BEGIN LOOP END LOOP; END $$').catch(() => undefined)
  const watching = await connect(first.url)
  await waitFor('the loop runs', async () => {
    const busy = await watching.query(
      `SELECT FROM pg_stat_activity WHERE query LIKE 'DO %' AND state = 'active'`,
    )
    return busy.rowCount === 1
  })
  process.kill(first.pid, 'SIGKILL')
  expect(await first.exited).toMatchObject({ signal: 'SIGKILL', expected: false })
  await first.stop()
  expect(findServers(dataDir)).toContain(rows[0].pid)
  const second = await startServer({ dataDir, settings: quick })
  expect(findServers(dataDir)).not.toContain(rows[0].pid)
  expect(await query(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

it('[O2] never touches an unrelated process that now has the pid of the old server, even one called postgres', async () => {
  const dataDir = await usedDataDir()
  const clusterDir = join(dataDir, 'postgres')
  // Of the server's own user, for whom PostgreSQL itself would take it for a running server.
  const { uid, gid } = statSync(clusterDir)
  const account = process.getuid?.() === 0 ? { uid, gid } : {}
  const folder = makeFolder()
  chmodSync(folder, 0o755)
  symlinkSync('/bin/sleep', join(folder, 'postgres'))
  const stranger = spawn(join(folder, 'postgres'), ['600'], { ...account, cwd: '/', stdio: 'ignore' })
  const ended = once(stranger, 'exit')
  onTestFinished(async () => {
    stranger.kill('SIGKILL')
    await ended
  })
  const lines = [stranger.pid, '/proc/self/fd/3', 1, 5432, '', '127.0.0.1', '  1  1', 'ready   ', '']
  writeFileSync(join(clusterDir, 'postmaster.pid'), lines.join('\n'))
  const server = await startServer({ dataDir, settings: quick })
  expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
})

it('[O2] a first start that is killed at any point does not prevent the next', async () => {
  const dataDir = join(makeFolder(), 'data')
  const scratch = () => {
    const name =
      existsSync(dataDir) && readdirSync(dataDir).find((entry) => entry.startsWith('postgres.new-'))
    return name ? join(dataDir, name) : undefined
  }
  const has = (file: string) => {
    const folder = scratch()
    return folder !== undefined && existsSync(join(folder, file))
  }
  const stages: Record<string, () => boolean> = {
    'the owner is known': () =>
      existsSync(dataDir) && readdirSync(dataDir).some((name) => name.startsWith('owner.')),
    'the scratch folder is made': () => scratch() !== undefined,
    'initdb has begun': () => has('PG_VERSION'),
    'the databases are being copied': () => has('base/4/PG_VERSION'),
    'the database is being made': () => has('postmaster.pid'),
    'the password is written': () => existsSync(join(dataDir, 'password')),
  }
  const isMade = () => existsSync(join(dataDir, 'postgres'))
  /** Whether it was killed at that stage; on a busy machine it may be past it before anybody looks. */
  async function killAt(stage: string, reached: () => boolean): Promise<boolean> {
    const { child, ended } = spawnServerProcess({ dataDir, settings: quick })
    let isReached = false
    await waitFor(stage, () => {
      isReached = reached()
      return isReached || isMade()
    })
    const folder = scratch()
    child.kill('SIGKILL')
    await ended
    await waitFor('nothing runs on', () => findServers(dataDir).length === 0)
    if (folder && existsSync(folder)) {
      await waitFor(
        'initdb is gone',
        () => !existsSync(folder) || findServerProcesses(folder, 0).length === 0,
      )
    }
    return isReached
  }
  for (const [stage, reached] of Object.entries(stages)) {
    // The last stage may end on either side of the end.
    const isLast = stage === Object.keys(stages).at(-1)
    while (!(await killAt(stage, reached)) || (isMade() && !isLast)) rmSync(dataDir, { recursive: true })
  }
  const server = await startServer({ dataDir, settings: quick })
  expect(await query(server.url, 'SELECT current_database() AS name')).toEqual([{ name: 'sagapost' }])
  expect(scratch()).toBeUndefined()
})
